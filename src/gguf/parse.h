/* Inside the reader: the open file, and a cursor whose every read is checked and says where it failed.
 * reader.c opens and checks the header, keys.c and tensors.c read the two directories, layout.c settles where
 * each tensor's data lies, q2_layout.c what type id 42 means. */
#ifndef SUMI_GGUF_PARSE_H
#define SUMI_GGUF_PARSE_H

#include "gguf/bytes.h"
#include "gguf/name_index.h"

struct sumi_gguf {
    char *path;
    sumi_file file;
    uint32_t version;
    uint64_t alignment, data_offset;
    sumi_gguf_key *keys;
    sumi_gguf_tensor *tensors;
    uint64_t n_keys, n_tensors; /* read so far */
    sumi_name_index key_index, tensor_index;
};

/* A position in the file, and the object being read for messages: "key 3 'general.alignment'". */
typedef struct sumi_gguf_cursor {
    sumi_gguf *g;
    sumi_error *err;
    uint64_t at; /* never beyond the end of the file */
    const char *kind;
    uint64_t number;
    sumi_str name; /* empty until read */
} sumi_gguf_cursor;

/* "PATH: text". */
__attribute__((format(printf, 4, 5))) sumi_status sumi_gguf_fail(const sumi_gguf *g, sumi_error *err,
                                                                 sumi_status status, const char *fmt, ...);
/* "PATH: key 3 'name': text". */
__attribute__((format(printf, 3, 4))) sumi_status sumi_gguf_fail_at(const sumi_gguf_cursor *c, sumi_status status,
                                                                    const char *fmt, ...);

/* Length of a name for "%.*s": long ones are cut, messages are one line. */
static inline int sumi_str_shown(sumi_str s) { return s.n_bytes < 80 ? (int)s.n_bytes : 80; }

/* Take n bytes; `field` names them when the file ends before. */
sumi_status sumi_gguf_take(sumi_gguf_cursor *c, const char *field, uint64_t n, const uint8_t **out);
sumi_status sumi_gguf_take_u32(sumi_gguf_cursor *c, const char *field, uint32_t *out);
sumi_status sumi_gguf_take_u64(sumi_gguf_cursor *c, const char *field, uint64_t *out);
sumi_status sumi_gguf_take_string(sumi_gguf_cursor *c, const char *field, sumi_str *out);
/* A name: 1..max_bytes bytes, none of them 0. Becomes the cursor's object name too. */
sumi_status sumi_gguf_take_name(sumi_gguf_cursor *c, uint64_t max_bytes, sumi_str *out);

/* Make room for item n_items of `item_bytes` bytes: doubles, so memory follows what was really read and not
 * what a header claims. */
sumi_status sumi_gguf_grow(sumi_gguf_cursor *c, void **items, uint64_t n_items, uint64_t *capacity,
                           size_t item_bytes);

/* Index the names of n items; refuses duplicates. kind: "key", "tensor". */
sumi_status sumi_gguf_index_names(sumi_gguf *g, sumi_name_index *index, const char *kind, const void *items,
                                  size_t stride, uint64_t n, sumi_error *err);

sumi_status sumi_gguf_read_keys(sumi_gguf_cursor *c, uint64_t n_keys);
sumi_status sumi_gguf_read_tensors(sumi_gguf_cursor *c, uint64_t n_tensors);
sumi_status sumi_gguf_place_tensors(sumi_gguf *g, sumi_q2_layout q2, sumi_error *err);

enum { SUMI_GGUF_ID_Q2_0 = 42 };

/* A tensor in offset order. */
typedef struct sumi_gguf_place {
    uint64_t offset_bytes; /* from the start of the file */
    uint64_t i_tensor;
} sumi_gguf_place;

/* Decide what type id 42 means in this file. places: all tensors by offset; none if no tensor has the id. */
sumi_status sumi_gguf_resolve_q2(const sumi_gguf *g, const sumi_gguf_place *places, sumi_q2_layout asked,
                                 const sumi_format **out, sumi_error *err);

#endif
