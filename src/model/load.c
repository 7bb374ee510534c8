#include "model/load.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NAME = 128, VECTOR_ALIGNMENT = 64 };

static void tensor_name(char *out, int32_t i_layer, const char *name)
{
    if (i_layer == SUMI_NO_LAYER)
        snprintf(out, MAX_NAME, "%s", name);
    else
        snprintf(out, MAX_NAME, "blk.%" PRId32 ".%s", i_layer, name);
}

bool sumi_has_tensor(const sumi_loader *l, int32_t i_layer, const char *name)
{
    char full[MAX_NAME];
    tensor_name(full, i_layer, name);
    return sumi_gguf_find_tensor(l->model->file, full) != NULL;
}

/* The tensor of that name with exactly these dimensions, of a type that can be decoded; NULL, and why in *status. */
static const sumi_gguf_tensor *find(const sumi_loader *l, const char *name, int64_t n_cols, int64_t n_rows,
                                    sumi_status *status)
{
    const char *path = sumi_gguf_path(l->model->file);
    const sumi_gguf_tensor *t = sumi_gguf_find_tensor(l->model->file, name);
    if (!t) {
        *status = sumi_fail(l->err, SUMI_EFORMAT, "%s: tensor %s is missing", path, name);
    } else if (!t->format) {
        const char *type = sumi_gguf_type_name(t->type_id);
        *status = sumi_fail(l->err, SUMI_EUNSUPPORTED, "%s: tensor %s: type %s (%" PRIu32 ") is not supported", path,
                            name, type ? type : "?", t->type_id);
    } else if (t->dims[0] != n_cols || t->dims[1] != n_rows || t->dims[2] != 1 || t->dims[3] != 1) {
        *status = sumi_fail(l->err, SUMI_EFORMAT,
                            "%s: tensor %s: shape is [%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64
                            "], the keys ask for [%" PRId64 ", %" PRId64 "]",
                            path, name, t->dims[0], t->dims[1], t->dims[2], t->dims[3], n_cols, n_rows);
    } else {
        return t;
    }
    return NULL;
}

static bool ends_with(sumi_str s, const char *ending)
{
    const size_t n = strlen(ending);
    return s.n_bytes >= n && memcmp(s.data + s.n_bytes - n, ending, n) == 0;
}

sumi_status sumi_refuse_unknown_terms(const sumi_loader *l)
{
    for (int64_t i = 0; i < sumi_gguf_n_tensors(l->model->file); i++) {
        const sumi_str name = sumi_gguf_tensor_at(l->model->file, i)->name;
        if (ends_with(name, ".bias") || ends_with(name, "rope_freqs.weight"))
            return sumi_fail(l->err, SUMI_EUNSUPPORTED, "%s: tensor %.*s: not supported for architecture '%s'",
                             sumi_gguf_path(l->model->file), (int)name.n_bytes, name.data, l->model->arch->name);
    }
    return SUMI_OK;
}

static sumi_status report_progress(sumi_loader *l, uint64_t n_bytes)
{
    l->done_bytes += n_bytes;
    if (l->options->progress && !l->options->progress(l->options->progress_user, l->done_bytes, l->total_bytes))
        return sumi_fail(l->err, SUMI_ECANCELLED, "%s: loading was cancelled", sumi_gguf_path(l->model->file));
    return SUMI_OK;
}

sumi_status sumi_load_vector(sumi_loader *l, sumi_view *out, int32_t i_layer, const char *name, int32_t n)
{
    char full[MAX_NAME];
    tensor_name(full, i_layer, name);
    sumi_status st = SUMI_OK;
    const sumi_gguf_tensor *t = find(l, full, n, 1, &st);
    if (!t) return st;
    const sumi_dtype type = t->format->type;
    if (t->n_dims != 1 || (type != SUMI_F32 && type != SUMI_F16 && type != SUMI_BF16))
        return sumi_fail(l->err, SUMI_EFORMAT,
                         "%s: tensor %s has %" PRIu32 " dimensions of type %s, must be a vector of F32, F16 or BF16",
                         sumi_gguf_path(l->model->file), full, t->n_dims, t->format->name);
    float *values = malloc((size_t)n * sizeof *values);
    if (!values) return sumi_fail(l->err, SUMI_ENOMEM, "model: %" PRId32 " floats", n);
    t->format->to_float(values, t->data, n);
    *out = (sumi_view){ l->model->vectors, l->vector_bytes };
    st = sumi_buffer_write(l->model->vectors, l->vector_bytes, values, (size_t)n * sizeof *values, l->err);
    l->vector_bytes += ((size_t)n * sizeof *values + VECTOR_ALIGNMENT - 1) / VECTOR_ALIGNMENT * VECTOR_ALIGNMENT;
    free(values);
    return st ? st : report_progress(l, t->n_bytes);
}

sumi_status sumi_load_matrix(sumi_loader *l, sumi_weight **out, int32_t i_layer, const sumi_part_name *parts,
                             int32_t n_parts, int32_t n_cols)
{
    sumi_model *m = l->model;
    const sumi_gguf_tensor *tensors[SUMI_MAX_PARTS];
    sumi_weight_part data[SUMI_MAX_PARTS];
    sumi_dtype type = SUMI_F32; /* of all parts */
    sumi_status st = SUMI_OK;
    for (int32_t i = 0; i < n_parts; i++) {
        char full[MAX_NAME];
        tensor_name(full, i_layer, parts[i].name);
        tensors[i] = find(l, full, n_cols, parts[i].n_rows, &st);
        if (!tensors[i]) return st;
        if (i == 0) type = tensors[i]->format->type;
        if (tensors[i]->format->type != type)
            return sumi_fail(l->err, SUMI_EUNSUPPORTED,
                             "%s: tensor %s is %s, its neighbour %s of layer %" PRId32 " is %s: "
                             "mixed types in one projection are not supported",
                             sumi_gguf_path(m->file), full, tensors[i]->format->name, parts[0].name, i_layer,
                             sumi_dtype_name(type));
        data[i] = (sumi_weight_part){ tensors[i]->data, parts[i].n_rows };
    }
    st = sumi_weight_new(out, m->device, type, n_cols, data, n_parts, l->err);
    if (st) return st;
    m->weight_bytes += sumi_weight_size_bytes(*out);
    const sumi_file *file = sumi_gguf_file(m->file);
    for (int32_t i = 0; i < n_parts; i++) {
        sumi_file_forget(file, tensors[i]->offset_bytes, tensors[i]->n_bytes);
        if ((st = report_progress(l, tensors[i]->n_bytes))) return st;
    }
    return SUMI_OK;
}
