/* Writing a file: keys and tensor records are collected in memory, and the directory is written when the first
 * data, or the end, arrives. */
#include "gguf/bytes.h"
#include "gguf/name_index.h"

#include "base/checked.h"
#include "base/half.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_TEMPORARY_NAMES = 100, FILE_VERSION = 3 };

typedef struct bytes {
    uint8_t *data;
    size_t n, capacity;
} bytes;

/* An item with its own copy of its name; name_index.h wants the name first. */
typedef struct named {
    sumi_str name;
} named;

typedef struct record {
    sumi_str name;
    const sumi_format *format;
    uint32_t n_dims;
    int64_t dims[4];
    uint64_t n_bytes;
} record;

struct sumi_gguf_writer {
    char *path, *temporary; /* temporary is NULL once it is renamed or was never made */
    FILE *file;
    sumi_error error; /* the first one; every later call returns it */
    uint64_t alignment;
    bytes keys; /* the key directory, encoded */
    named *key_names;
    record *tensors;
    uint64_t n_keys, n_tensors, key_capacity, tensor_capacity;
    bool has_directory; /* written: no more keys and tensors */
    uint64_t i_tensor;  /* whose data comes next */
    uint64_t n_written; /* of its bytes */
    uint64_t position;  /* in the file */
};

/* ---- Errors ----------------------------------------------------------------------------------------- */

static sumi_status report(const sumi_gguf_writer *w, sumi_error *err)
{
    if (err && w->error.status) *err = w->error;
    return w->error.status;
}

__attribute__((format(printf, 3, 4))) static sumi_status fail(sumi_gguf_writer *w, sumi_status status,
                                                              const char *fmt, ...)
{
    if (w->error.status) return w->error.status;
    char text[sizeof w->error.message];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    sumi_fail(&w->error, status, "%s", text);
    return sumi_fail_prefix(&w->error, status, "%s", w->path);
}

static int shown(sumi_str s) { return s.n_bytes < 80 ? (int)s.n_bytes : 80; }

/* ---- Making and removing ----------------------------------------------------------------------------- */

/* A name next to the target, so that the rename stays on one file system. */
static sumi_status open_temporary(sumi_gguf_writer *w)
{
    const size_t n = strlen(w->path) + 48;
    char *name = malloc(n);
    if (!name) return fail(w, SUMI_ENOMEM, "%zu bytes", n);
    int fd = -1;
    for (int i = 0; i < MAX_TEMPORARY_NAMES && fd < 0; i++) {
        snprintf(name, n, "%s.%ld-%d.tmp", w->path, (long)getpid(), i);
        fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST) break;
    }
    if (fd < 0) {
        free(name);
        return fail(w, SUMI_EIO, "cannot create a file next to it: %s", strerror(errno));
    }
    w->temporary = name;
    w->file = fdopen(fd, "wb");
    if (w->file) return SUMI_OK;
    close(fd);
    return fail(w, SUMI_ENOMEM, "stream: %s", strerror(errno));
}

sumi_status sumi_gguf_writer_new(sumi_gguf_writer **out, const char *path, sumi_error *err)
{
    *out = NULL;
    sumi_gguf_writer *w = calloc(1, sizeof *w);
    if (!w) return sumi_fail(err, SUMI_ENOMEM, "%s: %zu bytes", path, sizeof *w);
    w->alignment = SUMI_GGUF_DEFAULT_ALIGNMENT;
    w->path = strdup(path);
    struct stat st;
    sumi_status status = SUMI_OK;
    if (!w->path) {
        status = sumi_fail(err, SUMI_ENOMEM, "%s: copy of the path", path);
        goto failed;
    }
    if (!stat(path, &st) && !S_ISREG(st.st_mode))
        fail(w, SUMI_EIO, "exists and is not a regular file");
    else
        open_temporary(w);
    status = report(w, err);
    if (status) goto failed;
    *out = w;
    return SUMI_OK;
failed:
    sumi_gguf_writer_free(w);
    return status;
}

void sumi_gguf_writer_free(sumi_gguf_writer *w)
{
    if (!w) return;
    if (w->file) fclose(w->file);
    if (w->temporary) unlink(w->temporary);
    for (uint64_t i = 0; i < w->n_keys; i++) free((char *)w->key_names[i].name.data);
    for (uint64_t i = 0; i < w->n_tensors; i++) free((char *)w->tensors[i].name.data);
    free(w->key_names);
    free(w->tensors);
    free(w->keys.data);
    free(w->temporary);
    free(w->path);
    free(w);
}

/* ---- Collecting -------------------------------------------------------------------------------------- */

static sumi_status append(sumi_gguf_writer *w, bytes *b, const void *data, size_t n)
{
    if (n > SIZE_MAX / 4 - b->n) return fail(w, SUMI_ENOMEM, "directory of %zu + %zu bytes", b->n, n);
    if (b->n + n > b->capacity) {
        size_t capacity = b->capacity ? b->capacity : 4096;
        while (capacity < b->n + n) capacity *= 2;
        uint8_t *grown = realloc(b->data, capacity);
        if (!grown) return fail(w, SUMI_ENOMEM, "directory of %zu bytes", capacity);
        b->data = grown;
        b->capacity = capacity;
    }
    if (n) memcpy(b->data + b->n, data, n);
    b->n += n;
    return SUMI_OK;
}

static sumi_status append_le(sumi_gguf_writer *w, bytes *b, uint64_t v, size_t n_bytes)
{
    uint8_t encoded[8];
    sumi_store_u64(encoded, v); /* the low bytes come first */
    return append(w, b, encoded, n_bytes);
}

static sumi_status append_string(sumi_gguf_writer *w, bytes *b, sumi_str s)
{
    const sumi_status status = append_le(w, b, s.n_bytes, 8);
    return status ? status : append(w, b, s.data, s.n_bytes);
}

static sumi_status grow(sumi_gguf_writer *w, void **items, uint64_t n, uint64_t *capacity, size_t item_bytes)
{
    if (n < *capacity) return SUMI_OK;
    const uint64_t wanted = *capacity ? 2 * *capacity : 64;
    void *grown = realloc(*items, wanted * item_bytes);
    if (!grown) return fail(w, SUMI_ENOMEM, "%" PRIu64 " bytes", wanted * item_bytes);
    *items = grown;
    *capacity = wanted;
    return SUMI_OK;
}

static sumi_status copy_name(sumi_gguf_writer *w, const char *kind, sumi_str name, size_t max_bytes, sumi_str *out)
{
    if (name.n_bytes < 1 || name.n_bytes > max_bytes || memchr(name.data, 0, name.n_bytes))
        return fail(w, SUMI_EINVAL, "%s '%.*s': a name has 1 to %zu bytes and no zero byte, this one %zu", kind,
                    shown(name), name.data ? name.data : "", max_bytes, name.n_bytes);
    char *copy = malloc(name.n_bytes);
    if (!copy) return fail(w, SUMI_ENOMEM, "%s name of %zu bytes", kind, name.n_bytes);
    memcpy(copy, name.data, name.n_bytes);
    *out = (sumi_str){ copy, name.n_bytes };
    return SUMI_OK;
}

static sumi_status check_open(sumi_gguf_writer *w, const char *kind, sumi_str name)
{
    if (w->has_directory)
        return fail(w, SUMI_EINVAL, "%s '%.*s': declared after the first data", kind, shown(name), name.data);
    return w->error.status;
}

/* Name and type of a key; its value must follow. */
static sumi_status begin_key(sumi_gguf_writer *w, sumi_str name, uint32_t type)
{
    sumi_status status = check_open(w, "key", name);
    void *names = w->key_names;
    if (!status) status = grow(w, &names, w->n_keys, &w->key_capacity, sizeof *w->key_names);
    w->key_names = names;
    if (!status) status = copy_name(w, "key", name, SUMI_GGUF_MAX_KEY_BYTES, &w->key_names[w->n_keys].name);
    if (status) return status;
    w->n_keys++;
    status = append_string(w, &w->keys, name);
    return status ? status : append_le(w, &w->keys, type, 4);
}

static sumi_str str_of(const char *s) { return (sumi_str){ s, strlen(s) }; }

/* The file's own alignment is a key like any other: what is written there rules the layout below. */
static sumi_status note_alignment(sumi_gguf_writer *w, sumi_str name, uint64_t value)
{
    static const char key[] = "general.alignment";
    if (name.n_bytes != sizeof key - 1 || memcmp(name.data, key, sizeof key - 1)) return SUMI_OK;
    if (!sumi_gguf_is_alignment(value))
        return fail(w, SUMI_EINVAL, "%s: %" PRIu64 " is not a power of two up to %d", key, value,
                    SUMI_GGUF_MAX_ALIGNMENT);
    w->alignment = value;
    return SUMI_OK;
}

static bool int_fits(sumi_gguf_type type, int64_t v)
{
    switch (type) {
    case SUMI_GGUF_U8:
        return v >= 0 && v <= UINT8_MAX;
    case SUMI_GGUF_I8:
        return v >= INT8_MIN && v <= INT8_MAX;
    case SUMI_GGUF_U16:
        return v >= 0 && v <= UINT16_MAX;
    case SUMI_GGUF_I16:
        return v >= INT16_MIN && v <= INT16_MAX;
    case SUMI_GGUF_U32:
        return v >= 0 && v <= UINT32_MAX;
    case SUMI_GGUF_I32:
        return v >= INT32_MIN && v <= INT32_MAX;
    case SUMI_GGUF_U64:
        return v >= 0;
    case SUMI_GGUF_I64:
        return true;
    default:
        return false;
    }
}

sumi_status sumi_gguf_put_int(sumi_gguf_writer *w, const char *name, sumi_gguf_type type, int64_t value)
{
    if (!int_fits(type, value))
        return fail(w, SUMI_EINVAL, "key '%s': %" PRId64 " does not fit value type %d", name, value, (int)type);
    sumi_status status = note_alignment(w, str_of(name), (uint64_t)value);
    if (!status) status = begin_key(w, str_of(name), type);
    if (!status) status = append_le(w, &w->keys, (uint64_t)value, sumi_gguf_scalar_bytes(type));
    return status;
}

sumi_status sumi_gguf_put_float(sumi_gguf_writer *w, const char *name, float value)
{
    const sumi_status status = begin_key(w, str_of(name), SUMI_GGUF_F32);
    return status ? status : append_le(w, &w->keys, sumi_float_bits(value), 4);
}

sumi_status sumi_gguf_put_bool(sumi_gguf_writer *w, const char *name, bool value)
{
    const sumi_status status = begin_key(w, str_of(name), SUMI_GGUF_BOOL);
    return status ? status : append_le(w, &w->keys, value, 1);
}

sumi_status sumi_gguf_put_string(sumi_gguf_writer *w, const char *name, sumi_str value)
{
    const sumi_status status = begin_key(w, str_of(name), SUMI_GGUF_STRING);
    return status ? status : append_string(w, &w->keys, value);
}

static sumi_status begin_array(sumi_gguf_writer *w, sumi_str name, sumi_gguf_type type, uint64_t n)
{
    sumi_status status = begin_key(w, name, SUMI_GGUF_ARRAY);
    if (!status) status = append_le(w, &w->keys, type, 4);
    if (!status) status = append_le(w, &w->keys, n, 8);
    return status;
}

sumi_status sumi_gguf_put_key(sumi_gguf_writer *w, const sumi_gguf_key *key)
{
    sumi_status status = SUMI_OK;
    if (sumi_gguf_type_is_int(key->type)) status = note_alignment(w, key->name, (uint64_t)sumi_gguf_int_at(key, 0));
    if (status) return status;
    status = key->type == SUMI_GGUF_ARRAY ? begin_array(w, key->name, key->element_type, key->n)
                                          : begin_key(w, key->name, key->type);
    return status ? status : append(w, &w->keys, key->data, key->n_bytes);
}

sumi_status sumi_gguf_put_array(sumi_gguf_writer *w, const char *name, sumi_gguf_type type, const void *elements,
                                uint64_t n)
{
    uint64_t n_bytes;
    const size_t element_bytes = sumi_gguf_scalar_bytes(type);
    if (!element_bytes || !sumi_mul_u64(n, element_bytes, &n_bytes) || n_bytes > SIZE_MAX)
        return fail(w, SUMI_EINVAL, "key '%s': array of %" PRIu64 " elements of type %d", name, n, (int)type);
    const sumi_status status = begin_array(w, str_of(name), type, n);
    return status ? status : append(w, &w->keys, elements, (size_t)n_bytes);
}

sumi_status sumi_gguf_put_strings(sumi_gguf_writer *w, const char *name, const sumi_str *values, uint64_t n)
{
    sumi_status status = begin_array(w, str_of(name), SUMI_GGUF_STRING, n);
    for (uint64_t i = 0; i < n && !status; i++) status = append_string(w, &w->keys, values[i]);
    return status;
}

static sumi_status measure_record(sumi_gguf_writer *w, const char *name, record *r)
{
    if (!r->format) return fail(w, SUMI_EINVAL, "tensor '%s': no such format", name);
    if (r->n_dims < 1 || r->n_dims > 4)
        return fail(w, SUMI_EINVAL, "tensor '%s': %" PRIu32 " dimensions", name, r->n_dims);
    uint64_t n = 1;
    for (uint32_t i = 0; i < r->n_dims; i++)
        if (r->dims[i] < 1 || !sumi_mul_u64(n, (uint64_t)r->dims[i], &n) || n > INT64_MAX / 4)
            return fail(w, SUMI_EINVAL, "tensor '%s': dimension %" PRIu32 " is %" PRId64, name, i, r->dims[i]);
    if (r->dims[0] % r->format->block_weights)
        return fail(w, SUMI_EINVAL, "tensor '%s': rows of %" PRId64 " are not whole blocks of %d %s weights", name,
                    r->dims[0], r->format->block_weights, r->format->name);
    r->n_bytes = sumi_format_bytes(r->format, n); /* at most 4 bytes a weight */
    return SUMI_OK;
}

sumi_status sumi_gguf_put_tensor(sumi_gguf_writer *w, const char *name, sumi_dtype type, uint32_t n_dims,
                                 const int64_t *dims)
{
    sumi_status status = check_open(w, "tensor", str_of(name));
    record r = { .format = sumi_format_of(type), .n_dims = n_dims };
    for (uint32_t i = 0; i < n_dims && i < 4; i++) r.dims[i] = dims[i];
    void *tensors = w->tensors;
    if (!status) status = measure_record(w, name, &r);
    if (!status) status = grow(w, &tensors, w->n_tensors, &w->tensor_capacity, sizeof r);
    w->tensors = tensors;
    if (!status) status = copy_name(w, "tensor", str_of(name), SUMI_GGUF_MAX_NAME_BYTES, &r.name);
    if (!status) w->tensors[w->n_tensors++] = r;
    return status;
}

/* ---- Writing ----------------------------------------------------------------------------------------- */

static sumi_status emit(sumi_gguf_writer *w, const void *data, size_t n)
{
    if (n && fwrite(data, 1, n, w->file) != n)
        return fail(w, SUMI_EIO, "writing %zu bytes at %" PRIu64 ": %s", n, w->position, strerror(errno));
    w->position += n;
    return SUMI_OK;
}

static sumi_status emit_padding(sumi_gguf_writer *w)
{
    static const uint8_t zeros[256];
    sumi_status status = SUMI_OK;
    for (uint64_t left = -w->position & (w->alignment - 1); left && !status;) {
        const size_t n = left < sizeof zeros ? (size_t)left : sizeof zeros;
        status = emit(w, zeros, n);
        left -= n;
    }
    return status;
}

static sumi_status check_unique(sumi_gguf_writer *w, const char *kind, const void *items, size_t stride, uint64_t n)
{
    sumi_name_index index = { 0 };
    uint64_t clash[2] = { 0 };
    const sumi_status status = sumi_name_index_build(&index, items, stride, n, clash);
    sumi_name_index_free(&index);
    if (status == SUMI_EFORMAT) {
        const sumi_str *name = (const void *)((const uint8_t *)items + clash[1] * stride);
        return fail(w, SUMI_EINVAL, "two %ss named '%.*s'", kind, shown(*name), name->data);
    }
    return status ? fail(w, status, "index of %" PRIu64 " %ss", n, kind) : SUMI_OK;
}

static sumi_status encode_tensors(sumi_gguf_writer *w, bytes *b)
{
    uint64_t offset = 0;
    sumi_status status = SUMI_OK;
    for (uint64_t i = 0; i < w->n_tensors && !status; i++) {
        const record *r = &w->tensors[i];
        status = append_string(w, b, r->name);
        if (!status) status = append_le(w, b, r->n_dims, 4);
        for (uint32_t d = 0; d < r->n_dims && !status; d++) status = append_le(w, b, (uint64_t)r->dims[d], 8);
        if (!status) status = append_le(w, b, (uint32_t)r->format->gguf_id, 4);
        if (!status) status = append_le(w, b, offset, 8);
        if (!status && (!sumi_add_u64(offset, r->n_bytes, &offset) || !sumi_align_u64(offset, w->alignment, &offset)))
            status = fail(w, SUMI_EINVAL, "more than 2^64 bytes of tensors");
    }
    return status;
}

static sumi_status emit_directory(sumi_gguf_writer *w)
{
    uint8_t header[24] = { 'G', 'G', 'U', 'F' };
    sumi_store_u64(header + 4, FILE_VERSION); /* 4 bytes; the upper ones are overwritten next */
    sumi_store_u64(header + 8, w->n_tensors);
    sumi_store_u64(header + 16, w->n_keys);
    bytes records = { 0 };
    sumi_status status = check_unique(w, "key", w->key_names, sizeof *w->key_names, w->n_keys);
    if (!status) status = check_unique(w, "tensor", w->tensors, sizeof *w->tensors, w->n_tensors);
    if (!status) status = encode_tensors(w, &records);
    if (!status) status = emit(w, header, sizeof header);
    if (!status) status = emit(w, w->keys.data, w->keys.n);
    if (!status) status = emit(w, records.data, records.n);
    if (!status) status = emit_padding(w);
    free(records.data);
    w->has_directory = true;
    return status;
}

sumi_status sumi_gguf_write_data(sumi_gguf_writer *w, const void *data, size_t n_bytes, sumi_error *err)
{
    if (w->error.status) return report(w, err);
    if (!w->file) fail(w, SUMI_EINVAL, "data after the file was finished");
    if (!w->error.status && !w->has_directory) emit_directory(w);
    if (!w->error.status && w->i_tensor == w->n_tensors && n_bytes)
        fail(w, SUMI_EINVAL, "%zu bytes beyond the last tensor", n_bytes);
    if (w->error.status || !n_bytes) return report(w, err);
    const record *r = &w->tensors[w->i_tensor];
    if (n_bytes > r->n_bytes - w->n_written) {
        fail(w, SUMI_EINVAL, "tensor '%.*s': %" PRIu64 " + %zu bytes of %" PRIu64, shown(r->name), r->name.data,
             w->n_written, n_bytes, r->n_bytes);
        return report(w, err);
    }
    if (!emit(w, data, n_bytes)) w->n_written += n_bytes;
    if (w->n_written == r->n_bytes && !emit_padding(w)) {
        w->i_tensor++;
        w->n_written = 0;
    }
    return report(w, err);
}

sumi_status sumi_gguf_writer_finish(sumi_gguf_writer *w, sumi_error *err)
{
    if (w->error.status) return report(w, err);
    if (!w->file) fail(w, SUMI_EINVAL, "finished twice");
    if (!w->error.status && !w->has_directory) emit_directory(w);
    if (!w->error.status && w->i_tensor < w->n_tensors) {
        const record *r = &w->tensors[w->i_tensor];
        fail(w, SUMI_EINVAL, "tensor '%.*s': %" PRIu64 " of %" PRIu64 " bytes written", shown(r->name), r->name.data,
             w->n_written, r->n_bytes);
    }
    if (w->error.status) return report(w, err);
    const int closed = fclose(w->file);
    w->file = NULL;
    if (closed) {
        fail(w, SUMI_EIO, "writing: %s", strerror(errno));
    } else if (rename(w->temporary, w->path)) {
        fail(w, SUMI_EIO, "renaming %s: %s", w->temporary, strerror(errno));
    } else {
        free(w->temporary);
        w->temporary = NULL;
    }
    return report(w, err);
}
