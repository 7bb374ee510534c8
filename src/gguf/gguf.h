/* GGUF files, version 2 and 3: a reader over a mapping, and a writer.
 *
 * Nothing in a file is believed before it is checked: counts against the bytes left, lengths and offsets
 * against the file, products against 64 bits, names for duplicates, data for overlap. Strings and arrays stay
 * in the mapping; what is allocated is proportional to the number of keys and tensors that really fit. */
#ifndef SUMI_GGUF_GGUF_H
#define SUMI_GGUF_GGUF_H

#include "base/file.h"
#include "quant/quant.h"

typedef enum sumi_gguf_type {
    SUMI_GGUF_U8,
    SUMI_GGUF_I8,
    SUMI_GGUF_U16,
    SUMI_GGUF_I16,
    SUMI_GGUF_U32,
    SUMI_GGUF_I32,
    SUMI_GGUF_F32,
    SUMI_GGUF_BOOL,
    SUMI_GGUF_STRING,
    SUMI_GGUF_ARRAY,
    SUMI_GGUF_U64,
    SUMI_GGUF_I64,
    SUMI_GGUF_F64
} sumi_gguf_type;

/* Bytes in the mapping; not terminated. */
typedef struct sumi_str {
    const char *data;
    size_t n_bytes;
} sumi_str;

typedef struct sumi_gguf_key {
    sumi_str name;
    sumi_gguf_type type;         /* of the value; SUMI_GGUF_ARRAY: see element_type and n */
    sumi_gguf_type element_type; /* of an array's elements, never SUMI_GGUF_ARRAY */
    uint64_t n;                  /* elements of an array, else 1 */
    const uint8_t *data;         /* value, or first element; unaligned, little-endian */
    size_t n_bytes;              /* of the value or of all elements */
} sumi_gguf_key;

typedef struct sumi_gguf_tensor {
    sumi_str name;
    uint32_t n_dims;
    int64_t dims[4];           /* first is contiguous; unused ones are 1 */
    uint32_t type_id;          /* as in the file */
    const sumi_format *format; /* NULL: a known type this build does not decode (the file still opens) */
    const uint8_t *data;       /* NULL when format is NULL */
    uint64_t offset_bytes;     /* from the start of the file */
    uint64_t n_bytes;          /* 0 when format is NULL */
} sumi_gguf_tensor;

typedef struct sumi_gguf sumi_gguf;

/* How type id 42 is read; AUTO decides by the tensors' spans, as docs/formats.md explains. */
typedef enum sumi_q2_layout { SUMI_Q2_AUTO, SUMI_Q2_G64, SUMI_Q2_G128, SUMI_Q2_G128_TAIL } sumi_q2_layout;

/* Errors: SUMI_EIO; SUMI_EFORMAT with "PATH: field: values"; SUMI_EUNSUPPORTED (version, unknown type id);
 * SUMI_ENOMEM. *out is NULL on failure. A file of a split set (split.count > 1) is refused as unsupported. */
sumi_status sumi_gguf_open(sumi_gguf **out, const char *path, sumi_q2_layout q2, sumi_error *err);
void sumi_gguf_close(sumi_gguf *g);

const char *sumi_gguf_path(const sumi_gguf *g);
const sumi_file *sumi_gguf_file(const sumi_gguf *g);
uint32_t sumi_gguf_version(const sumi_gguf *g);
uint64_t sumi_gguf_alignment(const sumi_gguf *g);
uint64_t sumi_gguf_data_offset(const sumi_gguf *g); /* start of the data section in the file */
int64_t sumi_gguf_n_keys(const sumi_gguf *g);
int64_t sumi_gguf_n_tensors(const sumi_gguf *g);
const sumi_gguf_key *sumi_gguf_key_at(const sumi_gguf *g, int64_t i);
const sumi_gguf_tensor *sumi_gguf_tensor_at(const sumi_gguf *g, int64_t i);
const sumi_gguf_key *sumi_gguf_find_key(const sumi_gguf *g, const char *name);       /* NULL: absent */
const sumi_gguf_tensor *sumi_gguf_find_tensor(const sumi_gguf *g, const char *name); /* NULL: absent; O(1) */

/* Typed reads. Absent key: *out keeps its value (the default) and SUMI_OK, unless `required`. Any integer width
 * is accepted for an integer, any number finite in float32 for a float; out of [min, max], or another kind of
 * value: SUMI_EFORMAT naming file, key, value. */
sumi_status sumi_gguf_get_int(const sumi_gguf *g, const char *name, bool required, int64_t min, int64_t max,
                              int64_t *out, sumi_error *err);
sumi_status sumi_gguf_get_float(const sumi_gguf *g, const char *name, bool required, float *out, sumi_error *err);
sumi_status sumi_gguf_get_bool(const sumi_gguf *g, const char *name, bool required, bool *out, sumi_error *err);
sumi_status sumi_gguf_get_string(const sumi_gguf *g, const char *name, bool required, sumi_str *out, sumi_error *err);

/* Scalars out of a key's value or array. i < n. Integers widen (U64 above INT64_MAX saturates). */
int64_t sumi_gguf_int_at(const sumi_gguf_key *key, uint64_t i);  /* integer or bool element types only */
double sumi_gguf_float_at(const sumi_gguf_key *key, uint64_t i); /* F32, F64, integers */

/* Walk an array of strings: start with cursor = key->data; each call returns the next string. */
sumi_str sumi_gguf_next_string(const uint8_t **cursor);

static inline bool sumi_gguf_type_is_int(sumi_gguf_type t)
{
    return t <= SUMI_GGUF_I32 || t == SUMI_GGUF_U64 || t == SUMI_GGUF_I64;
}

/* ---- Writer: keys first, then tensors, then data in the same order ---------------------------------- */

typedef struct sumi_gguf_writer sumi_gguf_writer;

/* Writes PATH under a temporary name next to it; _finish renames it, _free before that removes it. */
sumi_status sumi_gguf_writer_new(sumi_gguf_writer **out, const char *path, sumi_error *err);
void sumi_gguf_writer_free(sumi_gguf_writer *w);

/* Keys and tensors are collected in memory; the first error is kept and returned by the calls below it. */
sumi_status sumi_gguf_put_int(sumi_gguf_writer *w, const char *name, sumi_gguf_type type, int64_t value);
sumi_status sumi_gguf_put_float(sumi_gguf_writer *w, const char *name, float value);
sumi_status sumi_gguf_put_bool(sumi_gguf_writer *w, const char *name, bool value);
sumi_status sumi_gguf_put_string(sumi_gguf_writer *w, const char *name, sumi_str value);
sumi_status sumi_gguf_put_key(sumi_gguf_writer *w, const sumi_gguf_key *key); /* verbatim copy from a reader */
/* elements: packed little-endian values of a non-string type. */
sumi_status sumi_gguf_put_array(sumi_gguf_writer *w, const char *name, sumi_gguf_type type, const void *elements,
                                uint64_t n);
sumi_status sumi_gguf_put_strings(sumi_gguf_writer *w, const char *name, const sumi_str *values, uint64_t n);

/* Declare a tensor; sizes and offsets follow from its shape. dims: first contiguous. */
sumi_status sumi_gguf_put_tensor(sumi_gguf_writer *w, const char *name, sumi_dtype type, uint32_t n_dims,
                                 const int64_t *dims);
/* Data of the next declared tensor, whole or in pieces; padding is added by itself. */
sumi_status sumi_gguf_write_data(sumi_gguf_writer *w, const void *data, size_t n_bytes, sumi_error *err);
/* Every tensor's data must be complete. */
sumi_status sumi_gguf_writer_finish(sumi_gguf_writer *w, sumi_error *err);

#endif
