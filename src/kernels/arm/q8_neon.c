/* Low-bit weights times int8 activations with baseline NEON: weights are expanded to signed bytes, products of
 * 16 are summed pairwise into 16 and then 32 bits. */
#include <arm_neon.h>
#include <math.h>
#include <string.h>

#include "kernels/block_q.h"
#include "kernels/variants.h"

/* 16 sign bits to 16 bytes of +1 and -1. */
static inline int8x16_t expand_signs(const uint8_t *bits)
{
    const uint8x16_t bit = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201ULL));
    const uint8x16_t both = vcombine_u8(vdup_n_u8(bits[0]), vdup_n_u8(bits[1]));
    return vbslq_s8(vtstq_u8(both, bit), vdupq_n_s8(1), vdupq_n_s8(-1));
}

/* 16 two-bit codes (4 bytes) to 16 bytes of -1, 0, 1 and `three`. */
static inline int8x16_t expand_codes(const uint8_t *codes, int32_t three)
{
    static const uint8_t spread[16] = { 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3 };
    static const int8_t shift[16] = { 0, -2, -4, -6, 0, -2, -4, -6, 0, -2, -4, -6, 0, -2, -4, -6 };
    const int8_t values[16] = { -1, 0, 1, (int8_t)three };
    uint32_t word;
    memcpy(&word, codes, sizeof word);
    const uint8x16_t bytes = vqtbl1q_u8(vreinterpretq_u8_u32(vdupq_n_u32(word)), vld1q_u8(spread));
    const uint8x16_t code = vandq_u8(vshlq_u8(bytes, vld1q_s8(shift)), vdupq_n_u8(3));
    return vqtbl1q_s8(vld1q_s8(values), code);
}

static inline int8x16_t expand16(const uint8_t *block, int32_t i, block_kind kind)
{
    return kind.is_signs ? expand_signs(block + 2 + i / 8)
                         : expand_codes(block + kind.q2.codes + i / 4, kind.q2.three);
}

static inline int32_t block_sum(const uint8_t *block, const int8_t *q, block_kind kind)
{
    int32x4_t sum = vdupq_n_s32(0);
    for (int32_t i = 0; i < kind.q2.weights; i += 16) {
        const int8x16_t w = expand16(block, i, kind), v = vld1q_s8(q + i);
        const int16x8_t low = vmull_s8(vget_low_s8(w), vget_low_s8(v));
        sum = vpadalq_s16(sum, vmlal_s8(low, vget_high_s8(w), vget_high_s8(v)));
    }
    return vaddvq_s32(sum);
}

static inline __attribute__((always_inline)) void gemm(float *y, int64_t ld, const uint8_t *w, size_t row_bytes,
                                                       int32_t n_rows, int32_t n_cols, const sumi_q8 *x,
                                                       int32_t n_tokens, block_kind kind)
{
    for (int32_t t = 0; t < n_tokens; t++) {
        const int8_t *q = x->q + (size_t)t * (size_t)x->n_groups * SUMI_Q8_GROUP;
        const float *d = x->d + (size_t)t * (size_t)x->n_groups;
        for (int32_t r = 0; r < n_rows; r++) {
            float acc = 0;
            for (int32_t b = 0; b < n_cols / kind.q2.weights; b++) {
                const uint8_t *block = w + (size_t)r * row_bytes + (size_t)b * (size_t)kind.q2.bytes;
                const int32_t first = b * kind.q2.weights;
                const float scale = load_half(block + kind.q2.scale) * d[first / SUMI_Q8_GROUP];
                acc = fmaf((float)block_sum(block, q + first, kind), scale, acc);
            }
            y[t * ld + r] = acc;
        }
    }
}

DEFINE_GEMMS(gemm, neon)
