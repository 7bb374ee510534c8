/* The tensor directory: names, shapes, types. Where the data lies is layout.c's. */
#include "gguf/parse.h"

#include "base/checked.h"

#include <inttypes.h>

/* 64-bit products below INT64_MAX keep every later size computation (elements, at most 8 bytes each) honest:
 * byte sizes are checked again when the format is known. */
static sumi_status check_product(const sumi_gguf_cursor *c, const sumi_gguf_tensor *t)
{
    uint64_t n = 1;
    for (uint32_t i = 0; i < t->n_dims; i++)
        if (!sumi_mul_u64(n, (uint64_t)t->dims[i], &n) || n > INT64_MAX)
            return sumi_gguf_fail_at(c, SUMI_EFORMAT,
                                     "dimensions %" PRId64 " x %" PRId64 " x %" PRId64 " x %" PRId64
                                     ": more than 2^63 - 1 elements",
                                     t->dims[0], t->dims[1], t->dims[2], t->dims[3]);
    return SUMI_OK;
}

static sumi_status read_shape(sumi_gguf_cursor *c, sumi_gguf_tensor *t)
{
    sumi_status status = sumi_gguf_take_u32(c, "number of dimensions", &t->n_dims);
    if (status) return status;
    if (t->n_dims < 1 || t->n_dims > 4)
        return sumi_gguf_fail_at(c, SUMI_EFORMAT, "%" PRIu32 " dimensions, expected 1 to 4", t->n_dims);
    for (int i = 0; i < 4; i++) t->dims[i] = 1;
    for (uint32_t i = 0; i < t->n_dims; i++) {
        uint64_t dim;
        status = sumi_gguf_take_u64(c, "dimension", &dim);
        if (status) return status;
        if (dim < 1 || dim > INT64_MAX)
            return sumi_gguf_fail_at(c, SUMI_EFORMAT, "dimension %" PRIu32 " is %" PRIu64 ", expected 1 to 2^63 - 1",
                                     i, dim);
        t->dims[i] = (int64_t)dim;
    }
    return check_product(c, t);
}

static sumi_status read_type(sumi_gguf_cursor *c, sumi_gguf_tensor *t)
{
    const sumi_status status = sumi_gguf_take_u32(c, "type", &t->type_id);
    if (status) return status;
    t->format = sumi_format_of_gguf(t->type_id);
    if (!t->format && !sumi_gguf_type_name(t->type_id))
        return sumi_gguf_fail_at(c, SUMI_EUNSUPPORTED, "type id %" PRIu32 " is unknown", t->type_id);
    return SUMI_OK;
}

static sumi_status read_tensor(sumi_gguf_cursor *c, sumi_gguf_tensor *t)
{
    sumi_status status = sumi_gguf_take_name(c, SUMI_GGUF_MAX_NAME_BYTES, &t->name);
    if (!status) status = read_shape(c, t);
    if (!status) status = read_type(c, t);
    if (!status) status = sumi_gguf_take_u64(c, "offset", &t->offset_bytes);
    if (status) return status;
    if (t->offset_bytes % c->g->alignment)
        return sumi_gguf_fail_at(c, SUMI_EFORMAT, "offset %" PRIu64 " is not a multiple of the alignment %" PRIu64,
                                 t->offset_bytes, c->g->alignment);
    return SUMI_OK;
}

sumi_status sumi_gguf_read_tensors(sumi_gguf_cursor *c, uint64_t n_tensors)
{
    sumi_gguf *g = c->g;
    uint64_t capacity = 0;
    c->kind = "tensor";
    for (; g->n_tensors < n_tensors; g->n_tensors++) {
        c->number = g->n_tensors;
        c->name = (sumi_str){ 0 };
        sumi_gguf_tensor tensor = { 0 };
        void *tensors = g->tensors;
        sumi_status status = sumi_gguf_grow(c, &tensors, g->n_tensors, &capacity, sizeof tensor);
        g->tensors = tensors;
        if (!status) status = read_tensor(c, &tensor);
        if (status) return status;
        g->tensors[g->n_tensors] = tensor;
    }
    /* Without tensors there may be no padding behind the directory. */
    if (!sumi_align_u64(c->at, g->alignment, &g->data_offset) || (!n_tensors && g->data_offset > g->file.size_bytes))
        g->data_offset = g->file.size_bytes;
    return sumi_gguf_index_names(g, &g->tensor_index, "tensor", g->tensors, sizeof *g->tensors, g->n_tensors, c->err);
}
