/* K formats, read only: 256 weights in sub-blocks of 16 or 32, whose small integer scales (and minima) are
 * themselves scaled by one fp16 number a block.
 *
 * Products are formed in ggml's order, (d scale) code - (dmin min), each step rounded to float32, so that the
 * values are ggml's to the last bit. */
#include "quant/blocks.h"

/* Q2_K and Q3_K share the order of their bit pairs: in each half of 128 weights, pair l of 32 bytes holds weights
 * 32 l .. 32 l + 31. Weight j of the block is pair (j / 32) % 4 of byte 32 (j / 128) + j % 32; sub-block s starts
 * at weight 16 s. */
static inline const uint8_t *pair_bytes(const uint8_t *q, int s) { return q + 32 * (s / 8) + 16 * (s % 2); }
static inline int pair_shift(int s) { return 2 * (s / 2 % 4); }

void sumi_decode_q2_k(float *restrict dst, const void *restrict src, int64_t n)
{
    const block_q2_k *b = src;
    for (int64_t i = 0; i < n / 256; i++, b++) {
        const float d = half_value(b->d), dmin = half_value(b->dmin);
        for (int s = 0; s < 16; s++, dst += 16) {
            const float scale = d * (float)(b->scales[s] & 15), min = dmin * (float)(b->scales[s] >> 4);
            const uint8_t *q = pair_bytes(b->q, s);
            const int shift = pair_shift(s);
            for (int j = 0; j < 16; j++) dst[j] = scale * (float)(q[j] >> shift & 3) - min;
        }
    }
}

/* Scale s of Q3_K, -32..31. */
static inline int q3_k_scale(const uint8_t *scales, int s)
{
    const int low = s < 8 ? scales[s] & 15 : scales[s - 8] >> 4;
    const int high = scales[8 + s % 4] >> 2 * (s / 4) & 3;
    return (low | high << 4) - 32;
}

void sumi_decode_q3_k(float *restrict dst, const void *restrict src, int64_t n)
{
    const block_q3_k *b = src;
    for (int64_t i = 0; i < n / 256; i++, b++) {
        const float d = half_value(b->d);
        for (int s = 0; s < 16; s++, dst += 16) {
            const float scale = d * (float)q3_k_scale(b->scales, s);
            const uint8_t *q = pair_bytes(b->q, s), *high = b->high + 16 * (s % 2);
            const int shift = pair_shift(s), plane = s / 2;
            for (int j = 0; j < 16; j++) {
                const int code = (q[j] >> shift & 3) | (high[j] >> plane & 1) << 2;
                dst[j] = scale * (float)(code - 4);
            }
        }
    }
}

typedef struct scale_min {
    int scale, min; /* 0..63 */
} scale_min;

/* Pair s of the 12 bytes in Q4_K and Q5_K. Pairs 0..3 take the low six bits of a byte each; 4..7 have nibbles in
 * the last four bytes and borrow their upper two bits from the first eight. */
static inline scale_min k_scale_min(const uint8_t *p, int s)
{
    if (s < 4) return (scale_min){ p[s] & 63, p[s + 4] & 63 };
    return (scale_min){ (p[s + 4] & 15) | p[s - 4] >> 6 << 4, p[s + 4] >> 4 | p[s] >> 6 << 4 };
}

void sumi_decode_q4_k(float *restrict dst, const void *restrict src, int64_t n)
{
    const block_q4_k *b = src;
    for (int64_t i = 0; i < n / 256; i++, b++) {
        const float d = half_value(b->d), dmin = half_value(b->dmin);
        for (int s = 0; s < 8; s++, dst += 32) {
            const scale_min m = k_scale_min(b->scales, s);
            const float scale = d * (float)m.scale, min = dmin * (float)m.min;
            const uint8_t *q = b->q + 32 * (s / 2);
            const int shift = 4 * (s % 2);
            for (int j = 0; j < 32; j++) dst[j] = scale * (float)(q[j] >> shift & 15) - min;
        }
    }
}

void sumi_decode_q5_k(float *restrict dst, const void *restrict src, int64_t n)
{
    const block_q5_k *b = src;
    for (int64_t i = 0; i < n / 256; i++, b++) {
        const float d = half_value(b->d), dmin = half_value(b->dmin);
        for (int s = 0; s < 8; s++, dst += 32) {
            const scale_min m = k_scale_min(b->scales, s);
            const float scale = d * (float)m.scale, min = dmin * (float)m.min;
            const uint8_t *q = b->q + 32 * (s / 2);
            const int shift = 4 * (s % 2);
            for (int j = 0; j < 32; j++) {
                const int code = (q[j] >> shift & 15) | (b->high[j] >> s & 1) << 4;
                dst[j] = scale * (float)code - min;
            }
        }
    }
}

void sumi_decode_q6_k(float *restrict dst, const void *restrict src, int64_t n)
{
    const block_q6_k *b = src;
    for (int64_t i = 0; i < n / 256; i++, b++) {
        const float d = half_value(b->d);
        /* Sub-block s is quarter (s / 2) % 4 of half s / 8; its weights start at 16 (s % 2) in the quarter. */
        for (int s = 0; s < 16; s++, dst += 16) {
            const int half = s / 8, quarter = s / 2 % 4, first = 16 * (s % 2);
            const float scale = d * (float)b->scales[s];
            const uint8_t *low = b->low + 64 * half + 32 * (quarter % 2) + first;
            const uint8_t *high = b->high + 32 * half + first;
            const int low_shift = 4 * (quarter / 2), high_shift = 2 * quarter;
            for (int j = 0; j < 16; j++) {
                const int code = (low[j] >> low_shift & 15) | (high[j] >> high_shift & 3) << 4;
                dst[j] = scale * (float)(code - 32);
            }
        }
    }
}
