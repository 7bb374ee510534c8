/* Blocks of 32 weights with one scale, and in the _1 formats one minimum: Q8_0, Q4_0, Q4_1, Q5_0, Q5_1.
 *
 *   Q8_0, Q4_0, Q5_0:  value = d (code - zero),  zero = 0, 8, 16
 *   Q4_1, Q5_1:        value = d code + min
 *
 * The scales are the reference quantisers'. */
#include "quant/encode.h"

/* ---- Decoding ------------------------------------------------------------------------------------------- */

void sumi_decode_q8_0(float *restrict dst, const void *restrict src, int64_t n)
{
    const block_q8_0 *b = src;
    for (int64_t i = 0; i < n / 32; i++, b++, dst += 32) {
        const float d = half_value(b->d);
        for (int j = 0; j < 32; j++) dst[j] = (float)b->q[j] * d;
    }
}

void sumi_decode_q4_0(float *restrict dst, const void *restrict src, int64_t n)
{
    const block_q4_0 *b = src;
    for (int64_t i = 0; i < n / 32; i++, b++, dst += 32) {
        const float d = half_value(b->d);
        for (int j = 0; j < 16; j++) dst[j] = (float)((b->q[j] & 15) - 8) * d;
        for (int j = 0; j < 16; j++) dst[j + 16] = (float)((b->q[j] >> 4) - 8) * d;
    }
}

void sumi_decode_q4_1(float *restrict dst, const void *restrict src, int64_t n)
{
    const block_q4_1 *b = src;
    for (int64_t i = 0; i < n / 32; i++, b++, dst += 32) {
        const float d = half_value(b->d), min = half_value(b->min);
        for (int j = 0; j < 16; j++) dst[j] = (float)(b->q[j] & 15) * d + min;
        for (int j = 0; j < 16; j++) dst[j + 16] = (float)(b->q[j] >> 4) * d + min;
    }
}

static inline uint32_t load_word(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline void store_word(uint8_t *p, uint32_t u)
{
    for (int i = 0; i < 4; i++) p[i] = (uint8_t)(u >> 8 * i);
}

/* Codes 0..31 from nibbles and fifth bits. */
static inline void unpack_five(int32_t *restrict codes, const uint8_t *restrict q, uint32_t high)
{
    for (int j = 0; j < 16; j++) {
        codes[j] = (int32_t)((q[j] & 15u) | (high >> j & 1) << 4);
        codes[j + 16] = (int32_t)(q[j] >> 4 | (high >> (j + 16) & 1) << 4);
    }
}

void sumi_decode_q5_0(float *restrict dst, const void *restrict src, int64_t n)
{
    const block_q5_0 *b = src;
    int32_t codes[32];
    for (int64_t i = 0; i < n / 32; i++, b++, dst += 32) {
        const float d = half_value(b->d);
        unpack_five(codes, b->q, load_word(b->high));
        for (int j = 0; j < 32; j++) dst[j] = (float)(codes[j] - 16) * d;
    }
}

void sumi_decode_q5_1(float *restrict dst, const void *restrict src, int64_t n)
{
    const block_q5_1 *b = src;
    int32_t codes[32];
    for (int64_t i = 0; i < n / 32; i++, b++, dst += 32) {
        const float d = half_value(b->d), min = half_value(b->min);
        unpack_five(codes, b->q, load_word(b->high));
        for (int j = 0; j < 32; j++) dst[j] = (float)codes[j] * d + min;
    }
}

/* ---- Encoding ------------------------------------------------------------------------------------------- */

void sumi_encode_q8_0(void *restrict dst, const float *restrict src, int64_t n)
{
    block_q8_0 *b = dst;
    float x[32];
    for (int64_t i = 0; i < n / 32; i++) {
        load_weights(x, src + 32 * i, 32);
        const float d = saturate(max_magnitude(x, 32) / 127), inv = inverse(d);
        b[i].d = store_half(d);
        for (int j = 0; j < 32; j++) b[i].q[j] = (int8_t)round_code(x[j] * inv, -127, 127);
    }
}

/* The scale that maps the weight of largest magnitude to code 0, the one end of the range without a partner on
 * the other side; the first of equals decides its sign. */
static float signed_scale(const float *x, int zero)
{
    float extreme = 0;
    for (int j = 0; j < 32; j++)
        if (fabsf(x[j]) > fabsf(extreme)) extreme = x[j];
    return saturate(extreme / (float)-zero);
}

/* codes[j] = round(x d^-1 + zero) in 0..2 zero - 1; halves go up, as truncation after adding 0.5 does. */
static float encode_symmetric(uint8_t *codes, const float *x, int zero)
{
    const float d = signed_scale(x, zero), inv = inverse(d);
    for (int j = 0; j < 32; j++)
        codes[j] = (uint8_t)clamp(x[j] * inv + ((float)zero + 0.5f), 0, (float)(2 * zero - 1));
    return d;
}

typedef struct affine {
    float d, min;
} affine;

/* codes[j] = round((x - min) / d) in 0..top, d = (max - min) / top. */
static affine encode_affine(uint8_t *codes, const float *x, int top)
{
    float min = x[0], max = x[0];
    for (int j = 1; j < 32; j++) {
        min = x[j] < min ? x[j] : min;
        max = x[j] > max ? x[j] : max;
    }
    const affine a = { saturate((max - min) / (float)top), saturate(min) };
    const float inv = inverse(a.d);
    for (int j = 0; j < 32; j++) codes[j] = (uint8_t)clamp((x[j] - a.min) * inv + 0.5f, 0, (float)top);
    return a;
}

static void pack_nibbles(uint8_t *restrict q, const uint8_t *restrict codes)
{
    for (int j = 0; j < 16; j++) q[j] = (uint8_t)((codes[j] & 15) | (codes[j + 16] & 15) << 4);
}

static uint32_t fifth_bits(const uint8_t *codes)
{
    uint32_t high = 0;
    for (int j = 0; j < 32; j++) high |= (uint32_t)(codes[j] >> 4) << j;
    return high;
}

void sumi_encode_q4_0(void *restrict dst, const float *restrict src, int64_t n)
{
    block_q4_0 *b = dst;
    float x[32];
    uint8_t codes[32];
    for (int64_t i = 0; i < n / 32; i++) {
        load_weights(x, src + 32 * i, 32);
        b[i].d = store_half(encode_symmetric(codes, x, 8));
        pack_nibbles(b[i].q, codes);
    }
}

void sumi_encode_q5_0(void *restrict dst, const float *restrict src, int64_t n)
{
    block_q5_0 *b = dst;
    float x[32];
    uint8_t codes[32];
    for (int64_t i = 0; i < n / 32; i++) {
        load_weights(x, src + 32 * i, 32);
        b[i].d = store_half(encode_symmetric(codes, x, 16));
        store_word(b[i].high, fifth_bits(codes));
        pack_nibbles(b[i].q, codes);
    }
}

void sumi_encode_q4_1(void *restrict dst, const float *restrict src, int64_t n)
{
    block_q4_1 *b = dst;
    float x[32];
    uint8_t codes[32];
    for (int64_t i = 0; i < n / 32; i++) {
        load_weights(x, src + 32 * i, 32);
        const affine a = encode_affine(codes, x, 15);
        b[i].d = store_half(a.d);
        b[i].min = store_half(a.min);
        pack_nibbles(b[i].q, codes);
    }
}

void sumi_encode_q5_1(void *restrict dst, const float *restrict src, int64_t n)
{
    block_q5_1 *b = dst;
    float x[32];
    uint8_t codes[32];
    for (int64_t i = 0; i < n / 32; i++) {
        load_weights(x, src + 32 * i, 32);
        const affine a = encode_affine(codes, x, 31);
        b[i].d = store_half(a.d);
        b[i].min = store_half(a.min);
        store_word(b[i].high, fifth_bits(codes));
        pack_nibbles(b[i].q, codes);
    }
}
