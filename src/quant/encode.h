/* What the encoders share: inputs made safe to compute with, scales that stay finite, rounding to a code. */
#ifndef SUMI_QUANT_ENCODE_H
#define SUMI_QUANT_ENCODE_H

#include "quant/blocks.h"

#include <math.h>

/* Copy n weights with NaN as 0 and magnitudes cut at 2^40. No block format reaches 2^40 (the largest scale is
 * 65504), so nothing representable changes, and no later difference, sum or quotient can overflow. */
static inline void load_weights(float *restrict x, const float *restrict src, int n)
{
    for (int i = 0; i < n; i++) {
        const float v = isnan(src[i]) ? 0.0f : src[i];
        x[i] = v > 0x1p40f ? 0x1p40f : v < -0x1p40f ? -0x1p40f : v;
    }
}

static inline float max_magnitude(const float *x, int n)
{
    float m = 0;
    for (int i = 0; i < n; i++) m = fabsf(x[i]) > m ? fabsf(x[i]) : m;
    return m;
}

/* A scale, saturated so that its fp16 form is finite: 0 times it must stay 0. */
static inline float saturate(float d) { return d > 65504.0f ? 65504.0f : d < -65504.0f ? -65504.0f : d; }

static inline le_half store_half(float d) { return half_of_bits(sumi_float_to_half(d)); }

/* 1/d, or 0 when d vanishes in fp16: every code then decodes to 0, and 1/d might be infinite. */
static inline float inverse(float d) { return (sumi_float_to_half(d) & 0x7fff) ? 1.0f / d : 0.0f; }

static inline float clamp(float v, float low, float high) { return v < low ? low : v > high ? high : v; }

/* Nearest integer, halves away from zero, within [low, high]. */
static inline int round_code(float v, int low, int high) { return (int)roundf(clamp(v, (float)low, (float)high)); }

#endif
