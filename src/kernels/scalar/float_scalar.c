/* Float and fp16 kernels in portable C: the definition of the canonical order. */
#include <math.h>

#include "base/half.h"
#include "kernels/variants.h"

enum { N_LANES = 32 };

float sumi_dot_f32_scalar(const float *a, const float *b, int64_t n)
{
    float lane[N_LANES] = { 0 };
    int64_t i = 0;
    for (; i + N_LANES <= n; i += N_LANES)
        for (int j = 0; j < N_LANES; j++) lane[j] = fmaf(a[i + j], b[i + j], lane[j]);
    if (i < n) /* the zeros of the padding take part: they turn a lane of -0 into +0 in every variant alike */
        for (int j = 0; j < N_LANES; j++)
            lane[j] = i + j < n ? fmaf(a[i + j], b[i + j], lane[j]) : fmaf(0, 0, lane[j]);
    for (int half = N_LANES / 2; half > 0; half /= 2)
        for (int j = 0; j < half; j++) lane[j] += lane[j + half];
    return lane[0];
}

void sumi_f16_to_f32_scalar(float *dst, const uint16_t *src, int64_t n)
{
    for (int64_t i = 0; i < n; i++) dst[i] = sumi_half_to_float(src[i]);
}

void sumi_f32_to_f16_scalar(uint16_t *dst, const float *src, int64_t n)
{
    for (int64_t i = 0; i < n; i++) dst[i] = sumi_float_to_half(src[i]);
}
