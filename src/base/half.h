/* fp16 (IEEE binary16) and bf16 conversions, round to nearest even, identical on every machine. */
#ifndef SUMI_BASE_HALF_H
#define SUMI_BASE_HALF_H

#include <stdint.h>
#include <string.h>

static inline uint32_t sumi_float_bits(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}
static inline float sumi_bits_float(uint32_t u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

/* Widen: shift the exponent into place and let one multiplication by 2^112 also handle subnormals. */
static inline float sumi_half_to_float(uint16_t h)
{
    const uint32_t magnitude = (uint32_t)(h & 0x7fff) << 13;
    const uint32_t sign = (uint32_t)(h & 0x8000) << 16;
    if ((h & 0x7c00) == 0x7c00) /* inf, and NaN with the quiet bit set as hardware does */
        return sumi_bits_float(sign | 0x7f800000u | magnitude | ((h & 0x3ff) ? 0x400000u : 0));
    return sumi_bits_float(sign | sumi_float_bits(sumi_bits_float(magnitude) * 0x1p112f));
}

static inline uint16_t sumi_float_to_half(float f)
{
    const uint32_t u = sumi_float_bits(f);
    const uint32_t sign = (u >> 16) & 0x8000, a = u & 0x7fffffff;
    if (a > 0x7f800000) return (uint16_t)(sign | 0x7e00 | ((a >> 13) & 0x3ff)); /* NaN */
    if (a >= 0x477ff000) return (uint16_t)(sign | 0x7c00);                      /* >= 65520: inf */
    if (a < 0x38800000) { /* below 2^-14: subnormal; adding 0.5 aligns the rounding point */
        const uint32_t r = sumi_float_bits(sumi_bits_float(a) + 0.5f);
        return (uint16_t)(sign | (r - 0x3f000000u));
    }
    return (uint16_t)(sign | ((a - 0x38000000u + 0xfff + ((a >> 13) & 1)) >> 13));
}

static inline float sumi_bf16_to_float(uint16_t h) { return sumi_bits_float((uint32_t)h << 16); }

static inline uint16_t sumi_float_to_bf16(float f)
{
    const uint32_t u = sumi_float_bits(f);
    if ((u & 0x7fffffff) > 0x7f800000) return (uint16_t)((u >> 16) | 0x40); /* keep NaN a NaN */
    return (uint16_t)((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}

#endif
