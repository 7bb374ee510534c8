/* Where each tensor's data lies: offsets against the file, sizes against the file and against each other. */
#include "gguf/parse.h"

#include "base/checked.h"

#include <inttypes.h>
#include <stdlib.h>

static sumi_status fail_tensor(const sumi_gguf *g, uint64_t i, sumi_error *err, const char *text)
{
    const sumi_str name = g->tensors[i].name;
    return sumi_gguf_fail(g, err, SUMI_EFORMAT, "tensor %" PRIu64 " '%.*s': %s", i, sumi_str_shown(name), name.data,
                          text);
}

/* From offsets in the data section to offsets in the file. */
static sumi_status shift_offsets(sumi_gguf *g, sumi_error *err)
{
    for (uint64_t i = 0; i < g->n_tensors; i++)
        if (!sumi_add_u64(g->tensors[i].offset_bytes, g->data_offset, &g->tensors[i].offset_bytes))
            return fail_tensor(g, i, err, "offset is beyond 2^64 bytes");
    return SUMI_OK;
}

static int by_offset(const void *a, const void *b)
{
    const sumi_gguf_place *p = a, *q = b;
    if (p->offset_bytes != q->offset_bytes) return p->offset_bytes < q->offset_bytes ? -1 : 1;
    return (p->i_tensor > q->i_tensor) - (p->i_tensor < q->i_tensor);
}

static sumi_status sort_places(const sumi_gguf *g, sumi_gguf_place **out, sumi_error *err)
{
    sumi_gguf_place *places = calloc(g->n_tensors, sizeof *places);
    if (!places) return sumi_gguf_fail(g, err, SUMI_ENOMEM, "order of %" PRIu64 " tensors", g->n_tensors);
    for (uint64_t i = 0; i < g->n_tensors; i++) places[i] = (sumi_gguf_place){ g->tensors[i].offset_bytes, i };
    qsort(places, g->n_tensors, sizeof *places, by_offset);
    *out = places;
    return SUMI_OK;
}

/* Size of a tensor in its format. Rows are whole blocks. */
static sumi_status measure(const sumi_gguf *g, uint64_t i, sumi_error *err)
{
    sumi_gguf_tensor *t = &g->tensors[i];
    const uint64_t block_weights = (uint64_t)t->format->block_weights;
    uint64_t n = (uint64_t)t->dims[0] / block_weights;
    if ((uint64_t)t->dims[0] % block_weights)
        return sumi_gguf_fail(g, err, SUMI_EFORMAT,
                              "tensor %" PRIu64 " '%.*s': rows of %" PRId64 " are not whole blocks of %d %s weights",
                              i, sumi_str_shown(t->name), t->name.data, t->dims[0], t->format->block_weights,
                              t->format->name);
    for (int d = 1; d < 4; d++) n *= (uint64_t)t->dims[d]; /* below 2^63, checked when it was read */
    if (!sumi_mul_u64(n, (uint64_t)t->format->block_bytes, &n) || n > INT64_MAX)
        return fail_tensor(g, i, err, "more than 2^63 - 1 bytes");
    t->n_bytes = n;
    return SUMI_OK;
}

static sumi_status measure_all(sumi_gguf *g, const sumi_format *q2, sumi_error *err)
{
    sumi_status status = SUMI_OK;
    for (uint64_t i = 0; i < g->n_tensors && !status; i++) {
        sumi_gguf_tensor *t = &g->tensors[i];
        if (t->type_id == SUMI_GGUF_ID_Q2_0) t->format = q2;
        if (t->format) status = measure(g, i, err);
    }
    return status;
}

/* First byte after a tensor. One byte stands for data of unknown size. */
static uint64_t end_of(const sumi_gguf_tensor *t)
{
    uint64_t end;
    return sumi_add_u64(t->offset_bytes, t->format ? t->n_bytes : 1, &end) ? end : UINT64_MAX;
}

/* Report the tensor that reaches farthest: its end is the size the file should at least have. */
static sumi_status check_inside(const sumi_gguf *g, sumi_error *err)
{
    uint64_t farthest = 0, end = 0;
    for (uint64_t i = 0; i < g->n_tensors; i++) {
        if (end_of(&g->tensors[i]) <= end) continue;
        end = end_of(&g->tensors[i]);
        farthest = i;
    }
    if (end <= g->file.size_bytes) return SUMI_OK;
    const sumi_gguf_tensor *t = &g->tensors[farthest];
    return sumi_gguf_fail(g, err, SUMI_EFORMAT,
                          "tensor %" PRIu64 " '%.*s': offset %" PRIu64 ", %" PRIu64
                          " bytes: expected at least %" PRIu64 " bytes, have %zu: the file is truncated or damaged",
                          farthest, sumi_str_shown(t->name), t->name.data, t->offset_bytes, t->n_bytes, end,
                          g->file.size_bytes);
}

/* Neighbours in offset order suffice: where none overlap, ends ascend too. */
static sumi_status check_overlap(const sumi_gguf *g, const sumi_gguf_place *places, sumi_error *err)
{
    for (uint64_t k = 1; k < g->n_tensors; k++) {
        const sumi_gguf_tensor *a = &g->tensors[places[k - 1].i_tensor], *b = &g->tensors[places[k].i_tensor];
        if (end_of(a) > b->offset_bytes)
            return sumi_gguf_fail(g, err, SUMI_EFORMAT,
                                  "tensors '%.*s' and '%.*s' overlap: bytes %" PRIu64 " to %" PRIu64
                                  " and from %" PRIu64,
                                  sumi_str_shown(a->name), a->name.data, sumi_str_shown(b->name), b->name.data,
                                  a->offset_bytes, end_of(a), b->offset_bytes);
    }
    return SUMI_OK;
}

static bool has_q2(const sumi_gguf *g)
{
    for (uint64_t i = 0; i < g->n_tensors; i++)
        if (g->tensors[i].type_id == SUMI_GGUF_ID_Q2_0) return true;
    return false;
}

sumi_status sumi_gguf_place_tensors(sumi_gguf *g, sumi_q2_layout q2, sumi_error *err)
{
    if (!g->n_tensors) return SUMI_OK;
    sumi_gguf_place *places = NULL;
    const sumi_format *q2_format = NULL;
    sumi_status status = shift_offsets(g, err);
    if (!status) status = sort_places(g, &places, err);
    if (!status && has_q2(g)) status = sumi_gguf_resolve_q2(g, places, q2, &q2_format, err);
    if (!status) status = measure_all(g, q2_format, err);
    if (!status) status = check_inside(g, err);
    if (!status) status = check_overlap(g, places, err);
    free(places);
    for (uint64_t i = 0; i < g->n_tensors && !status; i++)
        if (g->tensors[i].format) g->tensors[i].data = g->file.data + g->tensors[i].offset_bytes;
    return status;
}
