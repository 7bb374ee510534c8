#include <arm_neon.h>
#include <string.h>

#include "base/half.h"
#include "kernels/variants.h"

enum { N_REGISTERS = 8 }; /* of four lanes: the 32 lanes of the canonical order */

static inline void accumulate(float32x4_t s[N_REGISTERS], const float *a, const float *b)
{
    for (int j = 0; j < N_REGISTERS; j++) s[j] = vfmaq_f32(s[j], vld1q_f32(a + 4 * j), vld1q_f32(b + 4 * j));
}

float sumi_dot_f32_neon(const float *a, const float *b, int64_t n)
{
    float32x4_t s[N_REGISTERS];
    for (int j = 0; j < N_REGISTERS; j++) s[j] = vdupq_n_f32(0);
    int64_t i = 0;
    for (; i + 32 <= n; i += 32) accumulate(s, a + i, b + i);
    if (i < n) {
        float pa[32] = { 0 }, pb[32] = { 0 };
        memcpy(pa, a + i, (size_t)(n - i) * sizeof *a);
        memcpy(pb, b + i, (size_t)(n - i) * sizeof *b);
        accumulate(s, pa, pb);
    }
    for (int half = N_REGISTERS / 2; half > 0; half /= 2)
        for (int j = 0; j < half; j++) s[j] = vaddq_f32(s[j], s[j + half]);
    const float32x2_t two = vadd_f32(vget_low_f32(s[0]), vget_high_f32(s[0]));
    return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
}

void sumi_f16_to_f32_neon(float *dst, const uint16_t *src, int64_t n)
{
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) vst1q_f32(dst + i, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(src + i))));
    for (; i < n; i++) dst[i] = sumi_half_to_float(src[i]);
}

void sumi_f32_to_f16_neon(uint16_t *dst, const float *src, int64_t n)
{
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) vst1_u16(dst + i, vreinterpret_u16_f16(vcvt_f16_f32(vld1q_f32(src + i))));
    for (; i < n; i++) dst[i] = sumi_float_to_half(src[i]);
}
