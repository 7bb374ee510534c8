/* What type id 42 means in a file. Three writers used it: ggml for groups of 64 (18 bytes), PrismML's
 * releases for groups of 128 (34 bytes), and one converter for groups of 128 with the scale behind the codes.
 * The first two differ in size, so the distance to the next tensor tells them apart; the third is told by
 * where the bytes make sense as scales. What cannot be told is refused, never guessed. */
#include "gguf/parse.h"

#include "base/checked.h"

#include <inttypes.h>

enum { MAX_SAMPLES = 512, G128_SCALE_TAIL = 32 };

typedef struct q2_span {
    uint64_t bytes;             /* to the next tensor, or to the end of the file */
    uint64_t g64, g128;         /* bytes of the data in either grouping */
    uint64_t g64_pad, g128_pad; /* with padding */
    bool has_g128;              /* rows are whole groups of 128 */
} q2_span;

static sumi_status fail_q2(const sumi_gguf *g, const sumi_gguf_tensor *t, const q2_span *s, sumi_error *err,
                           const char *verdict)
{
    return sumi_gguf_fail(g, err, SUMI_EFORMAT,
                          "tensor '%.*s': type id 42 takes %" PRIu64 " bytes, but groups of 64 would take %" PRIu64
                          " and groups of 128 %" PRIu64 ": %s",
                          sumi_str_shown(t->name), t->name.data, s->bytes, s->g64_pad, s->g128_pad, verdict);
}

static sumi_status measure_span(const sumi_gguf *g, const sumi_gguf_place *places, uint64_t k, q2_span *s,
                                sumi_error *err)
{
    const sumi_gguf_tensor *t = &g->tensors[places[k].i_tensor];
    if (t->dims[0] % 64)
        return sumi_gguf_fail(g, err, SUMI_EFORMAT,
                              "tensor '%.*s': rows of %" PRId64 " are not whole blocks of 64 Q2_0 weights",
                              sumi_str_shown(t->name), t->name.data, t->dims[0]);
    const uint64_t n = (uint64_t)(t->dims[0] * t->dims[1] * t->dims[2] * t->dims[3]);
    const uint64_t end = k + 1 < g->n_tensors ? places[k + 1].offset_bytes : g->file.size_bytes;
    s->bytes = end > t->offset_bytes ? end - t->offset_bytes : 0;
    s->g64 = n / 64 * 18; /* n is below 2^63, so this is below 2^62, padded too */
    s->g128 = n / 128 * 34;
    s->has_g128 = t->dims[0] % 128 == 0;
    sumi_align_u64(s->g64, g->alignment, &s->g64_pad);
    sumi_align_u64(s->g128, g->alignment, &s->g128_pad);
    return SUMI_OK;
}

/* The last tensor of a file may lack its padding or be followed by more than that. */
static bool fits_last(const sumi_gguf *g, uint64_t span, uint64_t bytes, uint64_t padded)
{
    return span >= bytes && span < padded + g->alignment;
}

/* Which groupings explain every span. The last tensor is asked only when the others leave both open. */
static sumi_status group_by_spans(const sumi_gguf *g, const sumi_gguf_place *places, bool *is_g128, sumi_error *err)
{
    bool can_64 = true, can_128 = true;
    q2_span s = { 0 };
    const sumi_gguf_tensor *t = NULL;
    for (uint64_t k = 0; k < g->n_tensors; k++) {
        if (g->tensors[places[k].i_tensor].type_id != SUMI_GGUF_ID_Q2_0) continue;
        t = &g->tensors[places[k].i_tensor];
        const sumi_status status = measure_span(g, places, k, &s, err);
        if (status) return status;
        const bool is_last = k + 1 == g->n_tensors;
        if (is_last && can_64 != can_128) break;
        const bool fits_64 = is_last ? fits_last(g, s.bytes, s.g64, s.g64_pad) : s.bytes == s.g64_pad;
        const bool fits_128 =
            s.has_g128 && (is_last ? fits_last(g, s.bytes, s.g128, s.g128_pad) : s.bytes == s.g128_pad);
        if (!fits_64 && !fits_128)
            return fail_q2(g, t, &s, err, "it is neither, or the file is truncated or damaged");
        can_64 &= fits_64;
        can_128 &= fits_128;
        if (!can_64 && !can_128) return fail_q2(g, t, &s, err, "the file mixes both");
    }
    if (can_64 == can_128) return fail_q2(g, t, &s, err, "too small to tell, name the layout");
    *is_g128 = can_128;
    return SUMI_OK;
}

/* A scale is the largest magnitude of its group: finite and never negative (-0 aside). Codes read as fp16 have
 * the sign bit set wherever their top code is 2, in about a third of the blocks. */
static bool is_scale(const uint8_t *p)
{
    const uint64_t h = sumi_load_le(p, 2);
    return h == 0x8000 || (!(h & 0x8000) && (h & 0x7c00) != 0x7c00);
}

/* Look at up to MAX_SAMPLES blocks, evenly spaced over all tensors of the id. */
static sumi_status find_scales(const sumi_gguf *g, bool *is_tail, sumi_error *err)
{
    uint64_t n_blocks = 0, next = 0, passed = 0;
    for (uint64_t i = 0; i < g->n_tensors; i++)
        if (g->tensors[i].type_id == SUMI_GGUF_ID_Q2_0) {
            const int64_t *d = g->tensors[i].dims;
            if (!sumi_add_u64(n_blocks, (uint64_t)(d[0] / 128 * d[1] * d[2] * d[3]), &n_blocks)) break;
        }
    const uint64_t stride = n_blocks / MAX_SAMPLES + 1;
    bool head = true, tail = true;
    for (uint64_t i = 0; i < g->n_tensors; i++) {
        const sumi_gguf_tensor *t = &g->tensors[i];
        if (t->type_id != SUMI_GGUF_ID_Q2_0) continue;
        const uint64_t n = (uint64_t)(t->dims[0] / 128 * t->dims[1] * t->dims[2] * t->dims[3]);
        /* Not inside the file: refused with both sizes when all is measured. */
        if (t->offset_bytes > g->file.size_bytes || n * 34 > g->file.size_bytes - t->offset_bytes) return SUMI_OK;
        for (; next < passed + n; next += stride) {
            const uint64_t at = t->offset_bytes + (next - passed) * 34;
            head &= is_scale(g->file.data + at);
            tail &= is_scale(g->file.data + at + G128_SCALE_TAIL);
        }
        passed += n;
    }
    if (!head && !tail)
        return sumi_gguf_fail(g, err, SUMI_EFORMAT,
                              "type id 42 in groups of 128: neither the first nor the last 2 bytes of the blocks "
                              "are scales");
    *is_tail = !head;
    return SUMI_OK;
}

static sumi_status detect(const sumi_gguf *g, const sumi_gguf_place *places, sumi_dtype *type, sumi_error *err)
{
    bool is_g128 = false, is_tail = false;
    sumi_status status = group_by_spans(g, places, &is_g128, err);
    if (!status && is_g128) status = find_scales(g, &is_tail, err);
    *type = is_tail ? SUMI_Q2_0_G128_TAIL : is_g128 ? SUMI_Q2_0_G128 : SUMI_Q2_0;
    return status;
}

sumi_status sumi_gguf_resolve_q2(const sumi_gguf *g, const sumi_gguf_place *places, sumi_q2_layout asked,
                                 const sumi_format **out, sumi_error *err)
{
    sumi_dtype type = SUMI_Q2_0;
    sumi_status status = SUMI_OK;
    switch (asked) {
    case SUMI_Q2_AUTO:
        status = detect(g, places, &type, err);
        break;
    case SUMI_Q2_G64:
        break;
    case SUMI_Q2_G128:
        type = SUMI_Q2_0_G128;
        break;
    case SUMI_Q2_G128_TAIL:
        type = SUMI_Q2_0_G128_TAIL;
        break;
    }
    *out = sumi_format_of(type);
    return status;
}
