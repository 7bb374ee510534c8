#include "kernels/op.h"

sumi_status sumi_check_silu_mul(const void *args, sumi_error *err)
{
    const sumi_silu_mul_args *a = args;
    sumi_status st;
    if ((st = sumi_check_min("silu_mul", "n_tokens", a->n_tokens, 1, err))) return st;
    if ((st = sumi_check_min("silu_mul", "n", a->n, 1, err))) return st;
    const int64_t n = (int64_t)a->n_tokens * a->n;
    if ((st = sumi_check_view("silu_mul", "x", a->x, 2 * n, 4, err))) return st;
    if ((st = sumi_check_view("silu_mul", "y", a->y, n, 4, err))) return st;
    if (sumi_views_overlap(a->y, (uint64_t)n * 4, a->x, (uint64_t)n * 8))
        return sumi_fail(err, SUMI_EINVAL, "silu_mul: x and y overlap");
    return SUMI_OK;
}

size_t sumi_scratch_silu_mul(const void *args, int32_t n_threads)
{
    (void)args, (void)n_threads;
    return 0;
}

void sumi_run_silu_mul(const void *args, const sumi_run *run)
{
    const sumi_silu_mul_args *a = args;
    /* Pieces of a row, so that one token keeps all threads busy. */
    enum { PIECE = 256 };
    const int64_t pieces = (a->n + PIECE - 1) / PIECE;
    int64_t begin, end;
    sumi_pool_share(a->n_tokens * pieces, 1, run->i_thread, run->n_threads, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        const int64_t t = i / pieces, first = i % pieces * PIECE;
        const int64_t n = a->n - first < PIECE ? a->n - first : PIECE;
        const float *gate = sumi_floats(a->x) + t * 2 * a->n + first;
        run->k->silu_mul_f32(sumi_floats(a->y) + t * a->n + first, gate, gate + a->n, n);
    }
}
