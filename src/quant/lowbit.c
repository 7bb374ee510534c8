/* Formats of one or two bits a weight and one scale a block: Q1_0, Q2_0 (three layouts), TQ1_0, TQ2_0.
 *
 * Decoding is value = (code - 1) d, in Q1_0 +-d. The encoders use the scales of the reference quantisers, d =
 * mean |w| for Q1_0 and d = max |w| for the others, but first look for a scale that gives the block back bit for
 * bit: weights trained in a low-bit format must not change when they are written in it again. */
#include "quant/encode.h"

#include <stdbool.h>

enum { MAX_BLOCK = 256 };

/* ---- Q1_0 ------------------------------------------------------------------------------------------- */

void sumi_decode_q1_0(float *restrict dst, const void *restrict src, int64_t n)
{
    /* A test against eight constants, not a shift by a count per lane, which SSE2 does not have. */
    static const uint32_t bit[8] = { 1, 2, 4, 8, 16, 32, 64, 128 };
    const block_q1_0 *b = src;
    for (int64_t i = 0; i < n / 128; i++, b++) {
        const float d = half_value(b->d);
        for (int j = 0; j < 16; j++, dst += 8) {
            const uint32_t byte = b->signs[j];
            for (int k = 0; k < 8; k++) dst[k] = (byte & bit[k]) ? d : -d;
        }
    }
}

static void encode_q1_0(block_q1_0 *b, const float *x)
{
    float sum = 0;
    for (int j = 0; j < 128; j++) sum += fabsf(x[j]);
    b->d = store_half(saturate(sum / 128));
    /* With a zero scale the bits are the signs of zeros: 0 and -0 both survive. */
    const bool vanished = half_bits(b->d) == 0;
    memset(b->signs, 0, sizeof b->signs);
    for (int j = 0; j < 128; j++) {
        const bool plus = vanished ? !signbit(x[j]) : x[j] >= 0;
        b->signs[j / 8] |= (uint8_t)(plus << j % 8);
    }
}

void sumi_encode_q1_0(void *restrict dst, const float *restrict src, int64_t n)
{
    block_q1_0 *b = dst;
    float x[128];
    for (int64_t i = 0; i < n / 128; i++) {
        load_weights(x, src + 128 * i, 128);
        encode_q1_0(b + i, x);
    }
}

/* ---- Codes of a ternary block ------------------------------------------------------------------------ */

/* Codes of x for scale d up to `top`; true if they decode to x bit for bit.
 * What a code decodes to is looked up, not computed from the rounded number: gcc 12 with -fno-trapping-math turns
 * (float)(int)v into trunc(v) where the machine has that instruction, and trunc keeps a -0 that int does not. */
static bool try_scale(uint8_t *codes, const float *x, int n, float d, int top)
{
    const float stored = sumi_half_to_float(sumi_float_to_half(d)), inv = inverse(d);
    const float value[4] = { -stored, 0 * stored, stored, 2 * stored };
    uint32_t difference = 0;
    for (int j = 0; j < n; j++) {
        /* A scale of +0: code 0 is -0. */
        codes[j] = (uint8_t)(inv == 0 ? !signbit(x[j]) : round_code(x[j] * inv, -1, top - 1) + 1);
        difference |= sumi_float_bits(value[codes[j]]) ^ sumi_float_bits(x[j]);
    }
    return difference == 0;
}

/* Scales that choose_codes may try; each level includes those before it. */
typedef enum scale_choice {
    MAX_ONLY = 1,    /* max |w|: the format forbids a negative scale */
    EITHER_SIGN = 2, /* and -max |w|, whose zeros are -0 */
    OR_HALF = 4      /* and half of either: the scale of a block in which code 3, +2d, occurs */
} scale_choice;

/* Set codes and return the scale: the first choice that is exact, else max |w| with codes 0..2. */
static float choose_codes(uint8_t *codes, const float *x, int n, scale_choice choice)
{
    const float max = max_magnitude(x, n);
    const float scales[] = { saturate(max), -saturate(max), saturate(max / 2), -saturate(max / 2) };
    for (int i = 0; i < (int)choice; i++)
        if (try_scale(codes, x, n, scales[i], i < 2 ? 2 : 3)) return scales[i];
    try_scale(codes, x, n, scales[0], 2);
    return scales[0];
}

/* ---- Q2_0 --------------------------------------------------------------------------------------------- */

/* n weights from n/4 bytes; value[c] is what code c stands for. */
static inline void unpack_pairs(float *restrict dst, const uint8_t *restrict codes, int n, const float *value)
{
    for (int j = 0; j < n / 4; j++)
        for (int k = 0; k < 4; k++) dst[4 * j + k] = value[codes[j] >> 2 * k & 3];
}

static void pack_pairs(uint8_t *restrict bytes, const uint8_t *restrict codes, int n)
{
    for (int j = 0; j < n / 4; j++) {
        const uint8_t *c = codes + 4 * j;
        bytes[j] = (uint8_t)(c[0] | c[1] << 2 | c[2] << 4 | c[3] << 6);
    }
}

void sumi_decode_q2_0(float *restrict dst, const void *restrict src, int64_t n)
{
    const block_q2_0 *b = src;
    for (int64_t i = 0; i < n / 64; i++) {
        const float d = half_value(b[i].d);
        unpack_pairs(dst + 64 * i, b[i].codes, 64, (const float[4]){ -d, 0 * d, d, 2 * d });
    }
}

void sumi_decode_q2_0_g128(float *restrict dst, const void *restrict src, int64_t n)
{
    const block_q2_0_g128 *b = src;
    for (int64_t i = 0; i < n / 128; i++) {
        const float d = half_value(b[i].d);
        unpack_pairs(dst + 128 * i, b[i].codes, 128, (const float[4]){ -d, 0 * d, d, 2 * d });
    }
}

void sumi_decode_q2_0_g128_tail(float *restrict dst, const void *restrict src, int64_t n)
{
    const block_q2_0_g128_tail *b = src;
    for (int64_t i = 0; i < n / 128; i++) {
        const float d = half_value(b[i].d);
        unpack_pairs(dst + 128 * i, b[i].codes, 128, (const float[4]){ -d, 0 * d, d, 0 * d });
    }
}

void sumi_encode_q2_0(void *restrict dst, const float *restrict src, int64_t n)
{
    block_q2_0 *b = dst;
    float x[64];
    uint8_t codes[64];
    for (int64_t i = 0; i < n / 64; i++) {
        load_weights(x, src + 64 * i, 64);
        b[i].d = store_half(choose_codes(codes, x, 64, OR_HALF));
        pack_pairs(b[i].codes, codes, 64);
    }
}

void sumi_encode_q2_0_g128(void *restrict dst, const float *restrict src, int64_t n)
{
    block_q2_0_g128 *b = dst;
    float x[128];
    uint8_t codes[128];
    for (int64_t i = 0; i < n / 128; i++) {
        load_weights(x, src + 128 * i, 128);
        b[i].d = store_half(choose_codes(codes, x, 128, OR_HALF));
        pack_pairs(b[i].codes, codes, 128);
    }
}

/* Never a negative scale: readers tell this layout from the other of id 42 by the sign bits of its scales. */
void sumi_encode_q2_0_g128_tail(void *restrict dst, const float *restrict src, int64_t n)
{
    block_q2_0_g128_tail *b = dst;
    float x[128];
    uint8_t codes[128];
    for (int64_t i = 0; i < n / 128; i++) {
        load_weights(x, src + 128 * i, 128);
        b[i].d = store_half(choose_codes(codes, x, 128, MAX_ONLY));
        pack_pairs(b[i].codes, codes, 128);
    }
}

/* ---- TQ1_0: base-3 digits ------------------------------------------------------------------------------ */

/* A byte is a fraction of 256: multiplying by 3 moves the next digit above the point, the rest stays below.
 * n_digits planes of n_bytes weights each. */
static void unpack_trits(float *restrict dst, const uint8_t *restrict bytes, int n_bytes, int n_digits, float d)
{
    static const uint8_t power[5] = { 1, 3, 9, 27, 81 };
    for (int k = 0; k < n_digits; k++)
        for (int j = 0; j < n_bytes; j++) {
            const uint8_t rest = (uint8_t)(bytes[j] * power[k]);
            dst[k * n_bytes + j] = (float)((rest * 3 >> 8) - 1) * d;
        }
}

/* The inverse: five digits (the last is 0 where there are four), rounded up to a fraction of 256 so that
 * truncation in unpack_trits finds each again. */
static void pack_trits(uint8_t *restrict bytes, const uint8_t *restrict codes, int n_bytes, int n_digits)
{
    for (int j = 0; j < n_bytes; j++) {
        int number = 0;
        for (int k = 0; k < 5; k++) number = 3 * number + (k < n_digits ? codes[k * n_bytes + j] : 0);
        bytes[j] = (uint8_t)((number * 256 + 242) / 243);
    }
}

void sumi_decode_tq1_0(float *restrict dst, const void *restrict src, int64_t n)
{
    const block_tq1_0 *b = src;
    for (int64_t i = 0; i < n / 256; i++, b++, dst += 256) {
        const float d = half_value(b->d);
        unpack_trits(dst, b->five, 32, 5, d);
        unpack_trits(dst + 160, b->five + 32, 16, 5, d);
        unpack_trits(dst + 240, b->four, 4, 4, d);
    }
}

void sumi_encode_tq1_0(void *restrict dst, const float *restrict src, int64_t n)
{
    block_tq1_0 *b = dst;
    float x[MAX_BLOCK];
    uint8_t codes[MAX_BLOCK];
    for (int64_t i = 0; i < n / 256; i++) {
        load_weights(x, src + 256 * i, 256);
        b[i].d = store_half(choose_codes(codes, x, 256, EITHER_SIGN));
        pack_trits(b[i].five, codes, 32, 5);
        pack_trits(b[i].five + 32, codes + 160, 16, 5);
        pack_trits(b[i].four, codes + 240, 4, 4);
    }
}

/* ---- TQ2_0: planes of two bits --------------------------------------------------------------------------- */

void sumi_decode_tq2_0(float *restrict dst, const void *restrict src, int64_t n)
{
    const block_tq2_0 *b = src;
    for (int64_t i = 0; i < n / 256; i++, b++, dst += 256) {
        const float d = half_value(b->d);
        for (int p = 0; p < 2; p++)
            for (int l = 0; l < 4; l++)
                for (int m = 0; m < 32; m++)
                    dst[128 * p + 32 * l + m] = (float)((b->codes[32 * p + m] >> 2 * l & 3) - 1) * d;
    }
}

void sumi_encode_tq2_0(void *restrict dst, const float *restrict src, int64_t n)
{
    block_tq2_0 *b = dst;
    float x[MAX_BLOCK];
    uint8_t codes[MAX_BLOCK];
    for (int64_t i = 0; i < n / 256; i++) {
        load_weights(x, src + 256 * i, 256);
        b[i].d = store_half(choose_codes(codes, x, 256, OR_HALF));
        for (int j = 0; j < 64; j++) {
            const uint8_t *c = codes + 128 * (j / 32) + j % 32;
            b[i].codes[j] = (uint8_t)(c[0] | c[32] << 2 | c[64] << 4 | c[96] << 6);
        }
    }
}
