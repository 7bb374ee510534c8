/* y = residual + bias + W x, in two forms: float32 activations against weights widened row by row, and int8
 * activations against the stored blocks. */
#include <inttypes.h>

#include "kernels/op.h"
#include "quant/quant.h"

enum {
    ROW_TILE = 16,      /* weight rows per piece of work: the smallest share of a thread */
    FLOAT_ROW_TILE = 4, /* the same where rows are widened to float32: they should stay in the first cache */
    TOKEN_TILE = 64     /* activation rows that a tile of weights is used for while they stay in cache */
};

static int32_t n_groups_of(const sumi_weight *w) { return (w->n_cols + SUMI_Q8_GROUP - 1) / SUMI_Q8_GROUP; }

/* Formats whose blocks pack one scale per at most 128 low-bit weights have integer kernels; the others are
 * multiplied in float32 in both modes. */
static bool has_integer_kernel(sumi_dtype type)
{
    return type == SUMI_Q1_0 || type == SUMI_Q2_0 || type == SUMI_Q2_0_G128 || type == SUMI_Q2_0_G128_TAIL;
}

static bool is_integer(const sumi_matmul_args *a) { return a->mode == SUMI_FAST && has_integer_kernel(a->w->type); }

sumi_status sumi_check_matmul(const void *args, sumi_error *err)
{
    const sumi_matmul_args *a = args;
    sumi_status st;
    if (!a->w) return sumi_fail(err, SUMI_EINVAL, "matmul: w: no weight");
    if (a->mode != SUMI_FAST && a->mode != SUMI_EXACT)
        return sumi_fail(err, SUMI_EINVAL, "matmul: mode is %d, must be 0 (fast) or 1 (exact)", (int)a->mode);
    if ((st = sumi_check_min("matmul", "n_tokens", a->n_tokens, 1, err))) return st;
    const int64_t n_in = (int64_t)a->n_tokens * a->w->n_cols, n_out = (int64_t)a->n_tokens * a->w->n_rows;
    if ((st = sumi_check_view("matmul", "x", a->x, n_in, 4, err))) return st;
    if ((st = sumi_check_view("matmul", "y", a->y, n_out, 4, err))) return st;
    if (!sumi_view_is_absent(a->residual) && (st = sumi_check_view("matmul", "residual", a->residual, n_out, 4, err)))
        return st;
    if (!sumi_view_is_absent(a->bias) && (st = sumi_check_view("matmul", "bias", a->bias, a->w->n_rows, 4, err)))
        return st;
    if (sumi_views_overlap(a->y, (uint64_t)n_out * 4, a->x, (uint64_t)n_in * 4))
        return sumi_fail(err, SUMI_EINVAL, "matmul: x and y overlap");
    const bool same = a->residual.buffer == a->y.buffer && a->residual.offset_bytes == a->y.offset_bytes;
    if (!same && sumi_views_overlap(a->y, (uint64_t)n_out * 4, a->residual, (uint64_t)n_out * 4))
        return sumi_fail(err, SUMI_EINVAL, "matmul: y and residual overlap without being the same");
    return SUMI_OK;
}

/* Shared scratch, integer form: int8 rows, then their scales, then a tile of results per thread.
 * Float form: a tile of widened weight rows per thread. */
static size_t q_bytes(const sumi_matmul_args *a)
{
    return (size_t)a->n_tokens * (size_t)n_groups_of(a->w) * SUMI_Q8_GROUP;
}

static size_t d_bytes(const sumi_matmul_args *a) { return (size_t)a->n_tokens * (size_t)n_groups_of(a->w) * 4; }

static size_t align64(size_t n) { return (n + 63) / 64 * 64; }

static size_t float_tile_bytes(const sumi_matmul_args *a)
{
    return align64((size_t)a->w->n_cols * FLOAT_ROW_TILE * sizeof(float));
}

size_t sumi_scratch_matmul(const void *args, int32_t n_threads)
{
    const sumi_matmul_args *a = args;
    if (is_integer(a))
        return align64(q_bytes(a)) + align64(d_bytes(a)) + (size_t)n_threads * ROW_TILE * TOKEN_TILE * sizeof(float);
    return (size_t)n_threads * float_tile_bytes(a);
}

static void quantize(const sumi_matmul_args *a, const sumi_run *run, int8_t *q, float *d)
{
    const int32_t n_cols = a->w->n_cols, n_groups = n_groups_of(a->w);
    int64_t begin, end;
    sumi_pool_share((int64_t)a->n_tokens * n_groups, 4, run->i_thread, run->n_threads, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        const int64_t first = i % n_groups * SUMI_Q8_GROUP;
        const int32_t n = (int32_t)(n_cols - first < SUMI_Q8_GROUP ? n_cols - first : SUMI_Q8_GROUP);
        run->k->quantize_q8(q + i * SUMI_Q8_GROUP, d + i, sumi_floats(a->x) + i / n_groups * n_cols + first, n);
    }
}

/* y[t][r] = product + bias[r] + residual[t][r] for a tile of results [n_tokens][ROW_TILE]. */
static void store(const sumi_matmul_args *a, const float *tile, int64_t first_row, int64_t n_rows,
                  int64_t first_token, int64_t n_tokens)
{
    const float *bias = sumi_floats(a->bias), *residual = sumi_floats(a->residual);
    for (int64_t t = 0; t < n_tokens; t++) {
        const int64_t at = (first_token + t) * a->w->n_rows + first_row;
        float *y = sumi_floats(a->y) + at;
        for (int64_t r = 0; r < n_rows; r++) {
            float v = tile[t * ROW_TILE + r];
            if (bias) v += bias[first_row + r];
            if (residual) v += residual[at + r];
            y[r] = v;
        }
    }
}

static void run_integer(const sumi_matmul_args *a, const sumi_run *run)
{
    const sumi_weight *w = a->w;
    int8_t *q = (int8_t *)run->scratch;
    float *d = (float *)(run->scratch + align64(q_bytes(a)));
    float *tile = (float *)(run->scratch + align64(q_bytes(a)) + align64(d_bytes(a))) +
                  (size_t)run->i_thread * ROW_TILE * TOKEN_TILE;
    quantize(a, run, q, d);
    sumi_pool_barrier(run->pool);

    const int32_t n_groups = n_groups_of(w);
    sumi_gemm_q8_fn *gemm = run->k->gemm_q8[w->type];
    int64_t begin, end;
    sumi_pool_share(w->n_rows, ROW_TILE, run->i_thread, run->n_threads, &begin, &end);
    for (int64_t first_token = 0; first_token < a->n_tokens; first_token += TOKEN_TILE) {
        const int64_t left = a->n_tokens - first_token;
        const int32_t n_tokens = (int32_t)(left < TOKEN_TILE ? left : TOKEN_TILE);
        const sumi_q8 x = { .q = q + first_token * n_groups * SUMI_Q8_GROUP,
                            .d = d + first_token * n_groups,
                            .n_groups = n_groups };
        for (int64_t r = begin; r < end; r += ROW_TILE) {
            const int32_t n_rows = (int32_t)(end - r < ROW_TILE ? end - r : ROW_TILE);
            gemm(tile, ROW_TILE, w->data + (size_t)r * w->row_bytes, w->row_bytes, n_rows, w->n_cols, &x, n_tokens);
            store(a, tile, r, n_rows, first_token, n_tokens);
        }
    }
}

/* Rows r .. r+n_rows-1, widened in `tile`, with every token: a row of x is read once for the whole tile. */
static void multiply_float_tile(const sumi_matmul_args *a, const sumi_run *run, const float *tile, int64_t first_row,
                                int64_t n_rows)
{
    const int64_t n_cols = a->w->n_cols;
    const float *bias = sumi_floats(a->bias), *residual = sumi_floats(a->residual);
    for (int64_t t = 0; t < a->n_tokens; t++) {
        const float *x = sumi_floats(a->x) + t * n_cols;
        const int64_t at = t * a->w->n_rows + first_row;
        float *y = sumi_floats(a->y) + at;
        for (int64_t r = 0; r < n_rows; r++) {
            float v = run->k->dot_f32(tile + r * n_cols, x, n_cols);
            if (bias) v += bias[first_row + r];
            if (residual) v += residual[at + r];
            y[r] = v;
        }
    }
}

static void run_float(const sumi_matmul_args *a, const sumi_run *run)
{
    const sumi_weight *w = a->w;
    const sumi_format *f = sumi_format_of(w->type);
    float *tile = (float *)(run->scratch + (size_t)run->i_thread * float_tile_bytes(a));
    int64_t begin, end;
    sumi_pool_share(w->n_rows, FLOAT_ROW_TILE, run->i_thread, run->n_threads, &begin, &end);
    for (int64_t r = begin; r < end; r += FLOAT_ROW_TILE) {
        const int64_t n_rows = end - r < FLOAT_ROW_TILE ? end - r : FLOAT_ROW_TILE;
        for (int64_t i = 0; i < n_rows; i++)
            f->to_float(tile + i * w->n_cols, w->data + (size_t)(r + i) * w->row_bytes, w->n_cols);
        multiply_float_tile(a, run, tile, r, n_rows);
    }
}

void sumi_run_matmul(const void *args, const sumi_run *run)
{
    const sumi_matmul_args *a = args;
    if (is_integer(a))
        run_integer(a, run);
    else
        run_float(a, run);
}
