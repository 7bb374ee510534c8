/* What a GGUF file holds, for programs that show it: names as C strings, values as JSON text. */
#include <inttypes.h>
#include <stdlib.h>

#include "sumi.h"
#include "engine/json_text.h"
#include "gguf/bytes.h"

struct sumi_file_info {
    sumi_gguf *file;
    sumi_text names;      /* all names, each with its NUL; in the file they have none and may be no UTF-8 */
    size_t *name_offsets; /* in `names`: of the keys, then of the tensors */
};

/* ---- Opening ---------------------------------------------------------------------------------------- */

static sumi_str name_of(const sumi_gguf *g, int64_t i)
{
    const int64_t n_keys = sumi_gguf_n_keys(g);
    return i < n_keys ? sumi_gguf_key_at(g, i)->name : sumi_gguf_tensor_at(g, i - n_keys)->name;
}

static sumi_status copy_names(sumi_file_info *info, sumi_error *err)
{
    const sumi_gguf *g = info->file;
    const int64_t n = sumi_gguf_n_keys(g) + sumi_gguf_n_tensors(g);
    info->name_offsets = calloc((size_t)n + 1, sizeof *info->name_offsets); /* never of no bytes */
    for (int64_t i = 0; info->name_offsets && i < n; i++) {
        const sumi_str name = name_of(g, i);
        info->name_offsets[i] = info->names.n_bytes;
        sumi_text_put_utf8(&info->names, name.data, name.n_bytes);
        sumi_text_put(&info->names, "", 1);
    }
    if (info->name_offsets && !info->names.out_of_memory) return SUMI_OK;
    return sumi_fail(err, SUMI_ENOMEM, "%s: %" PRId64 " names", sumi_gguf_path(g), n);
}

sumi_status sumi_file_info_open(sumi_file_info **out, const char *path, sumi_error *err)
{
    if (!out) return sumi_fail(err, SUMI_EINVAL, "file info: out is NULL");
    *out = NULL;
    if (!path) return sumi_fail(err, SUMI_EINVAL, "file info: path is NULL");
    sumi_file_info *info = calloc(1, sizeof *info);
    if (!info) return sumi_fail(err, SUMI_ENOMEM, "%s: %zu bytes", path, sizeof *info);
    sumi_status st = sumi_gguf_open(&info->file, path, SUMI_Q2_AUTO, err);
    if (!st) st = copy_names(info, err);
    if (st) {
        sumi_file_info_close(info);
        return st;
    }
    *out = info;
    return SUMI_OK;
}

void sumi_file_info_close(sumi_file_info *info)
{
    if (!info) return;
    free(info->name_offsets);
    free(info->names.data);
    sumi_gguf_close(info->file);
    free(info);
}

uint32_t sumi_file_info_version(const sumi_file_info *info) { return info ? sumi_gguf_version(info->file) : 0; }

uint64_t sumi_file_info_size_bytes(const sumi_file_info *info)
{
    return info ? sumi_gguf_file(info->file)->size_bytes : 0;
}

int64_t sumi_file_info_n_keys(const sumi_file_info *info) { return info ? sumi_gguf_n_keys(info->file) : 0; }
int64_t sumi_file_info_n_tensors(const sumi_file_info *info) { return info ? sumi_gguf_n_tensors(info->file) : 0; }

static const char *stored_name(const sumi_file_info *info, int64_t i)
{
    return info->names.data + info->name_offsets[i];
}

/* ---- Values ----------------------------------------------------------------------------------------- */

/* *cursor: element i if the elements are strings; moves on to the next. */
static void put_element(sumi_text *t, const sumi_gguf_key *key, uint64_t i, const uint8_t **cursor)
{
    switch (key->element_type) {
    case SUMI_GGUF_STRING: {
        const sumi_str s = sumi_gguf_next_string(cursor);
        sumi_text_put_json_string(t, s.data, s.n_bytes);
        break;
    }
    case SUMI_GGUF_BOOL:
        sumi_text_puts(t, sumi_gguf_int_at(key, i) ? "true" : "false");
        break;
    case SUMI_GGUF_F32:
        sumi_text_put_json_float(t, (float)sumi_gguf_float_at(key, i));
        break;
    case SUMI_GGUF_F64:
        sumi_text_put_json_double(t, sumi_gguf_float_at(key, i));
        break;
    case SUMI_GGUF_U64:
        sumi_text_put_json_uint(t, sumi_load_u64(key->data + 8 * i));
        break;
    default:
        sumi_text_put_json_int(t, sumi_gguf_int_at(key, i));
        break;
    }
}

static void put_value(sumi_text *t, const sumi_gguf_key *key, int64_t max_elements)
{
    const uint8_t *cursor = key->data;
    if (key->type != SUMI_GGUF_ARRAY) {
        put_element(t, key, 0, &cursor);
        return;
    }
    const bool is_cut = max_elements >= 0 && key->n > (uint64_t)max_elements;
    const uint64_t n_shown = is_cut ? (uint64_t)max_elements : key->n;
    sumi_text_puts(t, "[");
    for (uint64_t i = 0; i < n_shown && !t->out_of_memory; i++) {
        if (i > 0) sumi_text_puts(t, ", ");
        put_element(t, key, i, &cursor);
    }
    if (is_cut) sumi_text_puts(t, n_shown > 0 ? ", ..." : "...");
    sumi_text_puts(t, "]");
}

sumi_status sumi_file_info_key(const sumi_file_info *info, int64_t i, int64_t max_elements, const char **name,
                               char **json, sumi_error *err)
{
    if (name) *name = NULL;
    if (json) *json = NULL;
    if (!info || !name || !json)
        return sumi_fail(err, SUMI_EINVAL, "key: %s is NULL", !info ? "info" : !name ? "name" : "json");
    const int64_t n = sumi_gguf_n_keys(info->file);
    if (i < 0 || i >= n)
        return sumi_fail(err, SUMI_EINVAL, "%s: key %" PRId64 " of %" PRId64, sumi_gguf_path(info->file), i, n);
    sumi_text text = { 0 };
    put_value(&text, sumi_gguf_key_at(info->file, i), max_elements);
    if (text.out_of_memory) {
        free(text.data);
        return sumi_fail(err, SUMI_ENOMEM, "%s: value of key %" PRId64 " '%s', over %zu bytes as JSON",
                         sumi_gguf_path(info->file), i, stored_name(info, i), text.n_bytes);
    }
    *name = stored_name(info, i);
    *json = text.data;
    return SUMI_OK;
}

/* ---- Tensors ---------------------------------------------------------------------------------------- */

sumi_status sumi_file_info_tensor(const sumi_file_info *info, int64_t i, sumi_tensor_info *tensor, sumi_error *err)
{
    if (!info || !tensor) return sumi_fail(err, SUMI_EINVAL, "tensor: %s is NULL", info ? "tensor" : "info");
    const int64_t n = sumi_gguf_n_tensors(info->file);
    if (i < 0 || i >= n)
        return sumi_fail(err, SUMI_EINVAL, "%s: tensor %" PRId64 " of %" PRId64, sumi_gguf_path(info->file), i, n);
    const sumi_gguf_tensor *t = sumi_gguf_tensor_at(info->file, i);
    *tensor = (sumi_tensor_info){
        .name = stored_name(info, sumi_gguf_n_keys(info->file) + i),
        .type_name = t->format ? t->format->name : sumi_gguf_type_name(t->type_id), /* known, or it did not open */
        .n_dims = (int32_t)t->n_dims,
        .dims = { t->dims[0], t->dims[1], t->dims[2], t->dims[3] },
        .offset_bytes = t->offset_bytes,
        .n_bytes = t->n_bytes,
    };
    return SUMI_OK;
}
