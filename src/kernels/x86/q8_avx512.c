/* Sign weights with AVX-512 and VNNI: the stored bits are the mask of a masked negation. */
#include <immintrin.h>
#include <string.h>

#include "kernels/block_q.h"
#include "kernels/variants.h"

/* q where the bit is set, -q where it is clear. */
static inline __m512i apply_signs(const uint8_t *bits, __m512i q)
{
    __mmask64 set;
    memcpy(&set, bits, sizeof set);
    return _mm512_mask_sub_epi8(q, _knot_mask64(set), _mm512_setzero_si512(), q);
}

/* The sixteen 32-bit partial sums of one block with one group; -(-128) cannot happen: |q| <= 127. */
static inline __m512i block_sums(const uint8_t *block, const int8_t *q)
{
    const __m512i one = _mm512_set1_epi8(1);
    const __m512i low = apply_signs(block + 2, _mm512_loadu_si512(q));
    const __m512i high = apply_signs(block + 10, _mm512_loadu_si512(q + 64));
    return _mm512_dpbusd_epi32(_mm512_dpbusd_epi32(_mm512_setzero_si512(), one, low), one, high);
}

/* The four totals of four registers of sixteen sums, as floats. */
static inline __m128 reduce4(__m512i s0, __m512i s1, __m512i s2, __m512i s3)
{
    const __m512i a = _mm512_add_epi32(_mm512_unpacklo_epi32(s0, s1), _mm512_unpackhi_epi32(s0, s1));
    const __m512i b = _mm512_add_epi32(_mm512_unpacklo_epi32(s2, s3), _mm512_unpackhi_epi32(s2, s3));
    const __m512i c = _mm512_add_epi32(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
    const __m256i d = _mm256_add_epi32(_mm512_castsi512_si256(c), _mm512_extracti64x4_epi64(c, 1));
    return _mm_cvtepi32_ps(_mm_add_epi32(_mm256_castsi256_si128(d), _mm256_extracti128_si256(d, 1)));
}

/* Four (weight row, activation row) pairs at a time: four rows of one, or one of four. */
static inline __m128 dot4(const uint8_t *const row[4], const int8_t *const q[4], const float *const d[4],
                          int32_t n_groups)
{
    __m128 acc = _mm_setzero_ps();
    for (int32_t g = 0; g < n_groups; g++) {
        const size_t at = (size_t)g * Q1_0_BYTES, first = (size_t)g * SUMI_Q8_GROUP;
        const __m128 sums = reduce4(block_sums(row[0] + at, q[0] + first), block_sums(row[1] + at, q[1] + first),
                                    block_sums(row[2] + at, q[2] + first), block_sums(row[3] + at, q[3] + first));
        uint16_t half[4];
        for (int i = 0; i < 4; i++) memcpy(&half[i], row[i] + at, sizeof half[i]);
        const __m128i halves =
            _mm_setr_epi16((short)half[0], (short)half[1], (short)half[2], (short)half[3], 0, 0, 0, 0);
        const __m128 dx = _mm_setr_ps(d[0][g], d[1][g], d[2][g], d[3][g]);
        acc = _mm_fmadd_ps(sums, _mm_mul_ps(_mm_cvtph_ps(halves), dx), acc);
    }
    return acc;
}

void sumi_gemm_q1_0_q8_avx512(float *y, int64_t ld, const uint8_t *w, size_t row_bytes, int32_t n_rows,
                              int32_t n_cols, const sumi_q8 *x, int32_t n_tokens)
{
    (void)n_cols;
    const size_t q_stride = (size_t)x->n_groups * SUMI_Q8_GROUP;
    const uint8_t *row[4];
    const int8_t *q[4];
    const float *d[4];
    float out[4];
    if (n_tokens == 1) {
        for (int i = 0; i < 4; i++) q[i] = x->q, d[i] = x->d;
        for (int32_t r = 0; r < n_rows; r += 4) {
            const int32_t n = n_rows - r < 4 ? n_rows - r : 4;
            for (int32_t i = 0; i < 4; i++) row[i] = w + (size_t)(r + (i < n ? i : n - 1)) * row_bytes;
            _mm_storeu_ps(out, dot4(row, q, d, x->n_groups));
            for (int32_t i = 0; i < n; i++) y[r + i] = out[i];
        }
        return;
    }
    for (int32_t t = 0; t < n_tokens; t += 4) {
        const int32_t n = n_tokens - t < 4 ? n_tokens - t : 4;
        for (int32_t i = 0; i < 4; i++) { /* missing tokens repeat the last: computed, not stored */
            const size_t token = (size_t)t + (size_t)(i < n ? i : n - 1);
            q[i] = x->q + token * q_stride;
            d[i] = x->d + token * (size_t)x->n_groups;
        }
        for (int32_t r = 0; r < n_rows; r++) {
            for (int i = 0; i < 4; i++) row[i] = w + (size_t)r * row_bytes;
            _mm_storeu_ps(out, dot4(row, q, d, x->n_groups));
            for (int32_t i = 0; i < n; i++) y[(t + i) * ld + r] = out[i];
        }
    }
}
