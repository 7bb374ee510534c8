/* Opening a file: magic, version, counts; then the two directories and the places of the data. */
#include "gguf/parse.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Smallest records: a key has a name of one byte, a type and a value of one byte; a tensor has such a name, a
 * number of dimensions, one dimension, a type and an offset. */
enum { MIN_KEY_BYTES = 8 + 1 + 4 + 1, MIN_TENSOR_BYTES = 8 + 1 + 4 + 8 + 4 + 8 };

/* What the start of something that is not GGUF suggests to a person. */
static const char *hint_of(const uint8_t *data, size_t n)
{
    if (n && data[0] == '<') return " (this looks like a web page, not a model)";
    if (n >= 12 && !memcmp(data, "version http", 12)) return " (this looks like a Git LFS pointer, not the file)";
    return "";
}

static sumi_status check_magic(sumi_gguf_cursor *c)
{
    static const char magic[4] = { 'G', 'G', 'U', 'F' };
    const sumi_file *file = &c->g->file;
    const size_t n_compared = file->size_bytes < 4 ? file->size_bytes : 4;
    if (memcmp(file->data, magic, n_compared)) {
        char shown[17];
        const size_t n = file->size_bytes < 16 ? file->size_bytes : 16;
        for (size_t i = 0; i < n; i++)
            shown[i] = file->data[i] >= 0x20 && file->data[i] < 0x7f ? (char)file->data[i] : '.';
        shown[n] = 0;
        return sumi_gguf_fail(c->g, c->err, SUMI_EFORMAT, "magic: expected \"GGUF\", have \"%s\"%s", shown,
                              hint_of(file->data, file->size_bytes));
    }
    const uint8_t *skipped;
    return sumi_gguf_take(c, "magic", 4, &skipped);
}

static sumi_status read_version(sumi_gguf_cursor *c)
{
    uint32_t v;
    const sumi_status status = sumi_gguf_take_u32(c, "version", &v);
    if (status) return status;
    if (v && (v & 0xffff) == 0)
        return sumi_gguf_fail(c->g, c->err, SUMI_EUNSUPPORTED,
                              "version: 0x%08" PRIx32 ": the file is big-endian, only little-endian is read", v);
    if (v != 2 && v != 3)
        return sumi_gguf_fail(c->g, c->err, SUMI_EUNSUPPORTED, "version: %" PRIu32 ", only 2 and 3 are read", v);
    c->g->version = v;
    return SUMI_OK;
}

static sumi_status check_count(const sumi_gguf_cursor *c, const char *field, uint64_t n, uint64_t min_bytes)
{
    const uint64_t left = c->g->file.size_bytes - c->at;
    if (n <= left / min_bytes) return SUMI_OK;
    return sumi_gguf_fail(c->g, c->err, SUMI_EFORMAT,
                          "%s: %" PRIu64 " of at least %" PRIu64 " bytes each, but %" PRIu64 " of the file's %zu"
                          " bytes are left: the file is truncated or damaged",
                          field, n, min_bytes, left, c->g->file.size_bytes);
}

static sumi_status read_all(sumi_gguf *g, sumi_q2_layout q2, sumi_error *err)
{
    sumi_gguf_cursor c = { .g = g, .err = err, .kind = "header" };
    uint64_t n_tensors, n_keys;
    sumi_status status = check_magic(&c);
    if (!status) status = read_version(&c);
    if (!status) status = sumi_gguf_take_u64(&c, "tensor count", &n_tensors);
    if (!status) status = sumi_gguf_take_u64(&c, "key count", &n_keys);
    if (!status) status = check_count(&c, "tensor count", n_tensors, MIN_TENSOR_BYTES);
    if (!status) status = check_count(&c, "key count", n_keys, MIN_KEY_BYTES);
    if (!status) status = sumi_gguf_read_keys(&c, n_keys);
    if (!status) status = sumi_gguf_read_tensors(&c, n_tensors);
    if (!status) status = sumi_gguf_place_tensors(g, q2, err);
    return status;
}

sumi_status sumi_gguf_open(sumi_gguf **out, const char *path, sumi_q2_layout q2, sumi_error *err)
{
    *out = NULL;
    sumi_gguf *g = calloc(1, sizeof *g);
    if (!g) return sumi_fail(err, SUMI_ENOMEM, "%s: %zu bytes", path, sizeof *g);
    sumi_status status = SUMI_OK;
    g->path = strdup(path);
    if (!g->path) status = sumi_fail(err, SUMI_ENOMEM, "%s: copy of the path", path);
    if (!status) status = sumi_file_map(&g->file, path, err);
    if (!status) status = read_all(g, q2, err);
    if (status) {
        sumi_gguf_close(g);
        return status;
    }
    *out = g;
    return SUMI_OK;
}

void sumi_gguf_close(sumi_gguf *g)
{
    if (!g) return;
    sumi_name_index_free(&g->key_index);
    sumi_name_index_free(&g->tensor_index);
    free(g->keys);
    free(g->tensors);
    sumi_file_unmap(&g->file);
    free(g->path);
    free(g);
}

const char *sumi_gguf_path(const sumi_gguf *g) { return g->path; }
const sumi_file *sumi_gguf_file(const sumi_gguf *g) { return &g->file; }
uint32_t sumi_gguf_version(const sumi_gguf *g) { return g->version; }
uint64_t sumi_gguf_alignment(const sumi_gguf *g) { return g->alignment; }
uint64_t sumi_gguf_data_offset(const sumi_gguf *g) { return g->data_offset; }
int64_t sumi_gguf_n_keys(const sumi_gguf *g) { return (int64_t)g->n_keys; }
int64_t sumi_gguf_n_tensors(const sumi_gguf *g) { return (int64_t)g->n_tensors; }
const sumi_gguf_key *sumi_gguf_key_at(const sumi_gguf *g, int64_t i) { return &g->keys[i]; }
const sumi_gguf_tensor *sumi_gguf_tensor_at(const sumi_gguf *g, int64_t i) { return &g->tensors[i]; }

const sumi_gguf_key *sumi_gguf_find_key(const sumi_gguf *g, const char *name)
{
    const int64_t i = sumi_name_index_find(&g->key_index, (sumi_str){ name, strlen(name) });
    return i < 0 ? NULL : &g->keys[i];
}

const sumi_gguf_tensor *sumi_gguf_find_tensor(const sumi_gguf *g, const char *name)
{
    const int64_t i = sumi_name_index_find(&g->tensor_index, (sumi_str){ name, strlen(name) });
    return i < 0 ? NULL : &g->tensors[i];
}
