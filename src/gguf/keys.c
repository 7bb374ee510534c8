/* The key directory, and the two keys that matter to the container itself: alignment and split count. */
#include "gguf/parse.h"

#include "base/checked.h"

#include <inttypes.h>

static sumi_status check_bools(const sumi_gguf_cursor *c, const uint8_t *data, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        if (data[i] > 1)
            return sumi_gguf_fail_at(c, SUMI_EFORMAT, "bool %" PRIu64 " is %u, neither 0 nor 1", i, data[i]);
    return SUMI_OK;
}

static sumi_status read_scalars(sumi_gguf_cursor *c, sumi_gguf_key *key)
{
    uint64_t n_bytes;
    const size_t element_bytes = sumi_gguf_scalar_bytes(key->element_type);
    if (!sumi_mul_u64(key->n, element_bytes, &n_bytes))
        return sumi_gguf_fail_at(c, SUMI_EFORMAT, "array of %" PRIu64 " elements of %zu bytes", key->n,
                                 element_bytes);
    const sumi_status status = sumi_gguf_take(c, "value", n_bytes, &key->data);
    if (status) return status;
    key->n_bytes = (size_t)n_bytes;
    return key->element_type == SUMI_GGUF_BOOL ? check_bools(c, key->data, key->n) : SUMI_OK;
}

static sumi_status read_strings(sumi_gguf_cursor *c, sumi_gguf_key *key)
{
    const uint64_t start = c->at, left = c->g->file.size_bytes - start;
    if (key->n > left / 8)
        return sumi_gguf_fail_at(c, SUMI_EFORMAT,
                                 "array of %" PRIu64 " strings of at least 8 bytes, but %" PRIu64 " of the file's %zu"
                                 " bytes are left: the file is truncated or damaged",
                                 key->n, left, c->g->file.size_bytes);
    for (uint64_t i = 0; i < key->n; i++) {
        sumi_str ignored;
        const sumi_status status = sumi_gguf_take_string(c, "string", &ignored);
        if (status) return status;
    }
    key->data = c->g->file.data + start;
    key->n_bytes = (size_t)(c->at - start);
    return SUMI_OK;
}

static bool is_element_type(uint32_t type) { return type == SUMI_GGUF_STRING || sumi_gguf_scalar_bytes(type) > 0; }

static sumi_status read_value(sumi_gguf_cursor *c, sumi_gguf_key *key)
{
    uint32_t type, element;
    sumi_status status = sumi_gguf_take_u32(c, "value type", &type);
    if (status) return status;
    if (type != SUMI_GGUF_ARRAY && !is_element_type(type))
        return sumi_gguf_fail_at(c, SUMI_EFORMAT, "value type %" PRIu32 " is unknown", type);
    element = type;
    key->n = 1;
    if (type == SUMI_GGUF_ARRAY) {
        status = sumi_gguf_take_u32(c, "element type", &element);
        if (!status) status = sumi_gguf_take_u64(c, "element count", &key->n);
        if (status) return status;
        if (!is_element_type(element))
            return sumi_gguf_fail_at(c, SUMI_EFORMAT, "array of element type %" PRIu32 "%s", element,
                                     element == SUMI_GGUF_ARRAY ? ": arrays are not nested" : " is unknown");
    }
    key->type = (sumi_gguf_type)type;
    key->element_type = (sumi_gguf_type)element;
    return element == SUMI_GGUF_STRING ? read_strings(c, key) : read_scalars(c, key);
}

static sumi_status read_alignment(sumi_gguf *g, sumi_error *err)
{
    int64_t alignment = SUMI_GGUF_DEFAULT_ALIGNMENT;
    const sumi_status status =
        sumi_gguf_get_int(g, "general.alignment", false, 1, SUMI_GGUF_MAX_ALIGNMENT, &alignment, err);
    if (status) return status;
    if (!sumi_gguf_is_alignment((uint64_t)alignment))
        return sumi_gguf_fail(g, err, SUMI_EFORMAT, "general.alignment: %" PRId64 " is not a power of two",
                              alignment);
    g->alignment = (uint64_t)alignment;
    return SUMI_OK;
}

static sumi_status refuse_split(const sumi_gguf *g, sumi_error *err)
{
    int64_t count = 1, number = 0;
    sumi_status status = sumi_gguf_get_int(g, "split.count", false, 0, INT64_MAX, &count, err);
    if (!status) status = sumi_gguf_get_int(g, "split.no", false, 0, INT64_MAX - 1, &number, err);
    if (status || count <= 1) return status;
    return sumi_gguf_fail(g, err, SUMI_EUNSUPPORTED,
                          "split.count: this is part %" PRId64 " of %" PRId64
                          "; split files are not read, merge the parts into one file first",
                          number + 1, count);
}

sumi_status sumi_gguf_read_keys(sumi_gguf_cursor *c, uint64_t n_keys)
{
    sumi_gguf *g = c->g;
    uint64_t capacity = 0;
    c->kind = "key";
    for (; g->n_keys < n_keys; g->n_keys++) {
        c->number = g->n_keys;
        c->name = (sumi_str){ 0 };
        sumi_gguf_key key = { 0 };
        void *keys = g->keys;
        sumi_status status = sumi_gguf_grow(c, &keys, g->n_keys, &capacity, sizeof key);
        g->keys = keys;
        if (!status) status = sumi_gguf_take_name(c, SUMI_GGUF_MAX_KEY_BYTES, &key.name);
        if (!status) status = read_value(c, &key);
        if (status) return status;
        g->keys[g->n_keys] = key;
    }
    sumi_status status = sumi_gguf_index_names(g, &g->key_index, "key", g->keys, sizeof *g->keys, g->n_keys, c->err);
    if (!status) status = read_alignment(g, c->err);
    if (!status) status = refuse_split(g, c->err);
    return status;
}
