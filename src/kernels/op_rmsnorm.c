#include <math.h>

#include "kernels/op.h"

sumi_status sumi_check_rmsnorm(const void *args, sumi_error *err)
{
    const sumi_rmsnorm_args *a = args;
    const int64_t n = (int64_t)a->n_rows * a->n_cols;
    sumi_status st;
    if ((st = sumi_check_min("rmsnorm", "n_rows", a->n_rows, 1, err))) return st;
    if ((st = sumi_check_min("rmsnorm", "n_cols", a->n_cols, 1, err))) return st;
    if (!(a->eps >= 0))
        return sumi_fail(err, SUMI_EINVAL, "rmsnorm: eps is %g, must not be negative", (double)a->eps);
    if ((st = sumi_check_view("rmsnorm", "x", a->x, n, 4, err))) return st;
    if ((st = sumi_check_view("rmsnorm", "y", a->y, n, 4, err))) return st;
    return sumi_check_view("rmsnorm", "w", a->w, a->n_cols, 4, err);
}

size_t sumi_scratch_rmsnorm(const void *args, int32_t n_threads)
{
    (void)args, (void)n_threads;
    return 0;
}

void sumi_run_rmsnorm(const void *args, const sumi_run *run)
{
    const sumi_rmsnorm_args *a = args;
    int64_t begin, end;
    sumi_pool_share(a->n_rows, 1, run->i_thread, run->n_threads, &begin, &end);
    for (int64_t r = begin; r < end; r++) {
        const float *x = sumi_floats(a->x) + r * a->n_cols;
        const float mean = run->k->dot_f32(x, x, a->n_cols) / (float)a->n_cols;
        run->k->scale_mul_f32(sumi_floats(a->y) + r * a->n_cols, x, sumi_floats(a->w), 1.0f / sqrtf(mean + a->eps),
                              a->n_cols);
    }
}
