#include "gguf/name_index.h"

#include <stdlib.h>
#include <string.h>

/* At most half full and well mixed, the longest run of 2^30 names is expected near 110 slots (Knuth 1998, "The
 * Art of Computer Programming" 3, 6.4, linear probing). Longer runs are made on purpose, and following them
 * would turn the linear pass into a quadratic one. */
enum { MAX_PROBES = 512 };

/* FNV-1a, finished with a multiplication so that the low bits depend on all of it. */
static uint64_t hash_name(sumi_str name)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < name.n_bytes; i++) h = (h ^ (uint8_t)name.data[i]) * 0x100000001b3u;
    h = (h ^ (h >> 32)) * 0x9e3779b97f4a7c15u;
    return h ^ (h >> 29);
}

static sumi_str name_of(const sumi_name_index *index, uint64_t i)
{
    sumi_str name;
    memcpy(&name, index->items + i * index->stride, sizeof name);
    return name;
}

static bool is_same(sumi_str a, sumi_str b)
{
    return a.n_bytes == b.n_bytes && memcmp(a.data, b.data, a.n_bytes) == 0;
}

/* The slot that holds `name` or the free one where it belongs; NULL after MAX_PROBES. */
static uint32_t *slot_of(const sumi_name_index *index, sumi_str name)
{
    const uint64_t start = hash_name(name);
    for (uint64_t i = 0; i < MAX_PROBES; i++) {
        uint32_t *slot = &index->slots[(start + i) & index->mask];
        if (!*slot || is_same(name_of(index, *slot - 1), name)) return slot;
    }
    return NULL;
}

static sumi_status insert_all(sumi_name_index *index, uint64_t n, uint64_t clash[2])
{
    for (uint64_t i = 0; i < n; i++) {
        uint32_t *slot = slot_of(index, name_of(index, i));
        if (!slot || *slot) {
            clash[0] = slot ? *slot - 1 : i;
            clash[1] = i;
            return SUMI_EFORMAT;
        }
        *slot = (uint32_t)i + 1;
    }
    return SUMI_OK;
}

sumi_status sumi_name_index_build(sumi_name_index *index, const void *items, size_t stride, uint64_t n,
                                  uint64_t clash[2])
{
    if (n > (uint64_t)1 << 30) return SUMI_ELIMIT;
    uint64_t n_slots = 2;
    while (n_slots < 2 * n) n_slots *= 2;
    index->slots = calloc(n_slots, sizeof *index->slots);
    if (!index->slots) return SUMI_ENOMEM;
    index->items = items;
    index->stride = stride;
    index->mask = n_slots - 1;
    const sumi_status status = insert_all(index, n, clash);
    if (status) sumi_name_index_free(index);
    return status;
}

void sumi_name_index_free(sumi_name_index *index)
{
    free(index->slots);
    *index = (sumi_name_index){ 0 };
}

int64_t sumi_name_index_find(const sumi_name_index *index, sumi_str name)
{
    if (!index->slots) return -1;
    const uint32_t *slot = slot_of(index, name);
    return slot && *slot ? (int64_t)*slot - 1 : -1;
}
