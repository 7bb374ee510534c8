#include <math.h>

#include "kernels/op.h"

sumi_status sumi_check_argmax(const void *args, sumi_error *err)
{
    const sumi_argmax_args *a = args;
    sumi_status st;
    if ((st = sumi_check_min("argmax", "n_rows", a->n_rows, 1, err))) return st;
    if ((st = sumi_check_min("argmax", "n_cols", a->n_cols, 1, err))) return st;
    if ((st = sumi_check_view("argmax", "x", a->x, (int64_t)a->n_rows * a->n_cols, 4, err))) return st;
    return sumi_check_view("argmax", "ids", a->ids, a->n_rows, 4, err);
}

size_t sumi_scratch_argmax(const void *args, int32_t n_threads)
{
    (void)args, (void)n_threads;
    return 0;
}

void sumi_run_argmax(const void *args, const sumi_run *run)
{
    const sumi_argmax_args *a = args;
    int64_t begin, end;
    sumi_pool_share(a->n_rows, 1, run->i_thread, run->n_threads, &begin, &end);
    for (int64_t r = begin; r < end; r++) {
        const float *x = sumi_floats(a->x) + r * a->n_cols;
        float best = -INFINITY;
        uint32_t index = 0;
        for (int32_t i = 0; i < a->n_cols; i++) { /* a NaN compares false and is skipped */
            if (x[i] > best) {
                best = x[i];
                index = (uint32_t)i;
            }
        }
        sumi_u32s(a->ids)[r] = index;
    }
}
