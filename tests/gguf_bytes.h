/* GGUF bytes for tests, written independently of src/gguf so that reader and writer cannot share a mistake, and
 * a walk over everything a reader offers. */
#ifndef SUMI_TESTS_GGUF_BYTES_H
#define SUMI_TESTS_GGUF_BYTES_H

#include "gguf/gguf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct blob {
    uint8_t *data;
    size_t n, capacity;
} blob;

static inline void blob_put(blob *b, const void *data, size_t n)
{
    if (b->n + n > b->capacity) {
        b->capacity = 2 * (b->n + n) + 256;
        b->data = realloc(b->data, b->capacity);
        if (!b->data) _exit(99);
    }
    if (n) memcpy(b->data + b->n, data, n);
    b->n += n;
}
static inline void blob_int(blob *b, uint64_t v, size_t n_bytes)
{
    for (size_t i = 0; i < n_bytes; i++) blob_put(b, &(uint8_t){ (uint8_t)(v >> (8 * i)) }, 1);
}
static inline void blob_string(blob *b, const char *s)
{
    blob_int(b, strlen(s), 8);
    blob_put(b, s, strlen(s));
}
static inline void blob_zeros(blob *b, size_t n)
{
    while (n--) blob_put(b, "", 1);
}
static inline void blob_align(blob *b, size_t alignment)
{
    blob_zeros(b, (alignment - b->n % alignment) % alignment);
}
static inline void blob_free(blob *b)
{
    free(b->data);
    *b = (blob){ 0 };
}

static inline void blob_header(blob *b, uint32_t version, uint64_t n_tensors, uint64_t n_keys)
{
    blob_put(b, "GGUF", 4);
    blob_int(b, version, 4);
    blob_int(b, n_tensors, 8);
    blob_int(b, n_keys, 8);
}
/* A key with a scalar of n_bytes, type as in the file. */
static inline void blob_key(blob *b, const char *name, uint32_t type, uint64_t value, size_t n_bytes)
{
    blob_string(b, name);
    blob_int(b, type, 4);
    blob_int(b, value, n_bytes);
}
static inline void blob_tensor(blob *b, const char *name, uint64_t ne0, uint64_t ne1, uint32_t type, uint64_t offset)
{
    blob_string(b, name);
    blob_int(b, 2, 4);
    blob_int(b, ne0, 8);
    blob_int(b, ne1, 8);
    blob_int(b, type, 4);
    blob_int(b, offset, 8);
}

static inline bool blob_save(const blob *b, const char *path)
{
    FILE *f = fopen(path, "wb");
    if (!f) return false;
    const bool ok = !b->n || fwrite(b->data, 1, b->n, f) == b->n;
    return !fclose(f) && ok;
}

/* Read everything through the interface, as a program would; the sum keeps the reads from being dropped. */
static inline uint64_t gguf_walk(const sumi_gguf *g)
{
    uint64_t sum = sumi_gguf_version(g) + sumi_gguf_alignment(g) + sumi_gguf_data_offset(g);
    for (int64_t i = 0; i < sumi_gguf_n_keys(g); i++) {
        const sumi_gguf_key *k = sumi_gguf_key_at(g, i);
        const uint8_t *cursor = k->data;
        for (uint64_t j = 0; j < k->n; j++) {
            if (k->element_type == SUMI_GGUF_STRING) {
                const sumi_str s = sumi_gguf_next_string(&cursor);
                for (size_t c = 0; c < s.n_bytes; c++) sum += (uint8_t)s.data[c];
            } else if (k->element_type == SUMI_GGUF_F32 || k->element_type == SUMI_GGUF_F64) {
                sum += sumi_gguf_float_at(k, j) > 0;
            } else {
                sum += (uint64_t)sumi_gguf_int_at(k, j) + (sumi_gguf_float_at(k, j) > 0);
            }
        }
    }
    for (int64_t i = 0; i < sumi_gguf_n_tensors(g); i++) {
        const sumi_gguf_tensor *t = sumi_gguf_tensor_at(g, i);
        for (uint64_t j = 0; t->data && j < t->n_bytes; j++) sum += t->data[j];
    }
    return sum;
}

#endif
