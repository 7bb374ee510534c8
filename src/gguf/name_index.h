/* Hash index over an array of items that begin with their name: finds one in O(1), and duplicates in O(n). */
#ifndef SUMI_GGUF_NAME_INDEX_H
#define SUMI_GGUF_NAME_INDEX_H

#include "gguf/gguf.h"

typedef struct sumi_name_index {
    const uint8_t *items; /* borrowed; each `stride` bytes long and beginning with a sumi_str */
    size_t stride;
    uint32_t *slots; /* item number + 1; 0: free */
    uint64_t mask;   /* slots - 1 */
} sumi_name_index;

/* Index n items, which must stay where they are. *index must be zero; on failure it stays zero.
 * Errors: SUMI_ENOMEM; SUMI_EFORMAT: clash[0] and clash[1] are two items of one name, or, when clash[0] is
 * clash[1], an item whose name was built to collide with very many others; SUMI_ELIMIT: n above 2^30. */
sumi_status sumi_name_index_build(sumi_name_index *index, const void *items, size_t stride, uint64_t n,
                                  uint64_t clash[2]);
void sumi_name_index_free(sumi_name_index *index); /* accepts a zero index */

/* Number of the item with this name, or -1. Accepts a zero index. */
int64_t sumi_name_index_find(const sumi_name_index *index, sumi_str name);

#endif
