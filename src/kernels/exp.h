/* exp for float32, the same bits in every compilation: only IEEE operations in a fixed order, with fmaf where a
 * fused operation is meant. Compilers vectorise it. */
#ifndef SUMI_KERNELS_EXP_H
#define SUMI_KERNELS_EXP_H

#include <math.h>

#include "base/half.h"

/* x = k ln 2 + r with |r| <= ln(2)/2; exp(r) by its Taylor polynomial up to r^7 (the rest is below 6e-9), then
 * scaled by 2^k in two steps so that the ends of the range, subnormal results included, round only once more. */
static inline float sumi_expf(float x)
{
    x = x < -104.0f ? -104.0f : x; /* rounds to 0 from here down */
    x = x > 89.0f ? 89.0f : x;     /* overflows to infinity from here up; NaN passes both */
    const float shifter = 0x1.8p23f;
    const float t = fmaf(x, 0x1.715476p0f, shifter); /* k = round(x / ln 2) in the low bits */
    const float k = t - shifter;
    const uint32_t ki = sumi_float_bits(t) - sumi_float_bits(shifter);
    float r = fmaf(k, -0x1.62e4p-1f, x); /* ln 2 in two parts, the first with trailing zeros */
    r = fmaf(k, -0x1.7f7d1cp-20f, r);
    float p = fmaf(r, 1.0f / 5040, 1.0f / 720);
    p = fmaf(p, r, 1.0f / 120);
    p = fmaf(p, r, 1.0f / 24);
    p = fmaf(p, r, 1.0f / 6);
    p = fmaf(p, r, 0.5f);
    p = fmaf(p, r, 1.0f);
    p = fmaf(p, r, 1.0f);
    const uint32_t half = (uint32_t)((int32_t)ki >> 1);
    return p * sumi_bits_float((half + 127) << 23) * sumi_bits_float((ki - half + 127) << 23);
}

#endif
