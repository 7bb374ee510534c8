/* Products of low-bit weights with int8 activations in portable C. */
#include <math.h>
#include <string.h>

#include "kernels/block_q.h"
#include "kernels/variants.h"

void sumi_quantize_q8_scalar(int8_t *q, float *d, const float *x, int32_t n)
{
    float max_abs = 0;
    bool finite = true;
    for (int32_t i = 0; i < n; i++) {
        const float a = fabsf(x[i]);
        if (!(a < INFINITY)) finite = false;
        if (a > max_abs) max_abs = a;
    }
    memset(q, 0, SUMI_Q8_GROUP);
    *d = finite ? 0 : NAN;
    if (!finite || max_abs < SUMI_Q8_TINY) return;
    *d = max_abs / 127.0f;
    const float inverse = 127.0f / max_abs;
    for (int32_t i = 0; i < n; i++) q[i] = (int8_t)rintf(x[i] * inverse);
}

void sumi_gemm_q1_0_q8_scalar(float *y, int64_t ld, const uint8_t *w, size_t row_bytes, int32_t n_rows,
                              int32_t n_cols, const sumi_q8 *x, int32_t n_tokens)
{
    (void)n_cols; /* whole groups: Q1_0 blocks are as long as a group */
    for (int32_t t = 0; t < n_tokens; t++) {
        for (int32_t r = 0; r < n_rows; r++) {
            float acc = 0;
            for (int32_t g = 0; g < x->n_groups; g++) {
                const uint8_t *block = w + (size_t)r * row_bytes + (size_t)g * Q1_0_BYTES;
                const int8_t *q = x->q + ((size_t)t * x->n_groups + g) * SUMI_Q8_GROUP;
                int32_t sum = 0;
                for (int j = 0; j < 128; j++) sum += (block[2 + j / 8] >> (j % 8) & 1) ? q[j] : -q[j];
                acc = fmaf((float)sum, load_half(block) * x->d[(size_t)t * x->n_groups + g], acc);
            }
            y[t * ld + r] = acc;
        }
    }
}

/* One 2-bit layout: `codes` and `scale` are byte offsets in a block of `bytes` bytes for `weights` weights, and
 * code 3 stands for `three` times the scale. */
static inline void gemm_q2(float *y, int64_t ld, const uint8_t *w, size_t row_bytes, int32_t n_rows, int32_t n_cols,
                           const sumi_q8 *x, int32_t n_tokens, q2_layout layout)
{
    const int8_t value[4] = { -1, 0, 1, (int8_t)layout.three };
    for (int32_t t = 0; t < n_tokens; t++) {
        for (int32_t r = 0; r < n_rows; r++) {
            float acc = 0;
            for (int32_t b = 0; b < n_cols / layout.weights; b++) {
                const uint8_t *block = w + (size_t)r * row_bytes + (size_t)b * (size_t)layout.bytes;
                const int32_t first = b * layout.weights;
                const int8_t *q = x->q + (size_t)t * x->n_groups * SUMI_Q8_GROUP + first;
                int32_t sum = 0;
                for (int j = 0; j < layout.weights; j++)
                    sum += value[block[layout.codes + j / 4] >> (2 * (j % 4)) & 3] * q[j];
                const float dx = x->d[(size_t)t * x->n_groups + first / SUMI_Q8_GROUP];
                acc = fmaf((float)sum, load_half(block + layout.scale) * dx, acc);
            }
            y[t * ld + r] = acc;
        }
    }
}

#define GEMM_Q2(y, ld, w, row_bytes, n_rows, n_cols, x, n_tokens, kind) \
    gemm_q2(y, ld, w, row_bytes, n_rows, n_cols, x, n_tokens, (kind).q2)

DEFINE_GEMM(GEMM_Q2, sumi_gemm_q2_0_q8_scalar, CODES(Q2_0_LAYOUT))
DEFINE_GEMM(GEMM_Q2, sumi_gemm_q2_0_g128_q8_scalar, CODES(Q2_0_G128_LAYOUT))
DEFINE_GEMM(GEMM_Q2, sumi_gemm_q2_0_g128_tail_q8_scalar, CODES(Q2_0_G128_TAIL_LAYOUT))
