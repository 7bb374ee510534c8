/* F32, F16, BF16: one weight a block. NaN and infinity pass through. */
#include "quant/blocks.h"

void sumi_decode_f32(float *restrict dst, const void *restrict src, int64_t n)
{
    memcpy(dst, src, (size_t)n * sizeof *dst);
}

void sumi_encode_f32(void *restrict dst, const float *restrict src, int64_t n)
{
    memcpy(dst, src, (size_t)n * sizeof *src);
}

void sumi_decode_f16(float *restrict dst, const void *restrict src, int64_t n)
{
    const le_half *h = src;
    for (int64_t i = 0; i < n; i++) dst[i] = half_value(h[i]);
}

void sumi_encode_f16(void *restrict dst, const float *restrict src, int64_t n)
{
    le_half *h = dst;
    for (int64_t i = 0; i < n; i++) h[i] = half_of_bits(sumi_float_to_half(src[i]));
}

void sumi_decode_bf16(float *restrict dst, const void *restrict src, int64_t n)
{
    const le_half *h = src;
    for (int64_t i = 0; i < n; i++) dst[i] = sumi_bf16_to_float(half_bits(h[i]));
}

void sumi_encode_bf16(void *restrict dst, const float *restrict src, int64_t n)
{
    le_half *h = dst;
    for (int64_t i = 0; i < n; i++) h[i] = half_of_bits(sumi_float_to_bf16(src[i]));
}
