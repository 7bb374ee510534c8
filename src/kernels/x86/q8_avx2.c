/* Low-bit weights times int8 activations with AVX2.
 *
 * A block of weights is expanded once to bytes and used for up to four activation rows; with one row, four
 * weight rows go together instead, so that there are always four sums to reduce and scale at a time. */
#include <immintrin.h>
#include <string.h>

#include "kernels/block_q.h"
#include "kernels/variants.h"

void sumi_quantize_q8_avx2(int8_t *q, float *d, const float *x, int32_t n)
{
    if (n < SUMI_Q8_GROUP) {
        sumi_quantize_q8_scalar(q, d, x, n);
        return;
    }
    const __m256 sign = _mm256_set1_ps(-0.0f), infinity = _mm256_set1_ps(__builtin_inff());
    __m256 max = _mm256_setzero_ps(), finite = _mm256_castsi256_ps(_mm256_set1_epi32(-1));
    for (int i = 0; i < SUMI_Q8_GROUP; i += 8) {
        const __m256 a = _mm256_andnot_ps(sign, _mm256_loadu_ps(x + i));
        finite = _mm256_and_ps(finite, _mm256_cmp_ps(a, infinity, _CMP_LT_OQ));
        max = _mm256_max_ps(max, a);
    }
    __m128 m = _mm_max_ps(_mm256_castps256_ps128(max), _mm256_extractf128_ps(max, 1));
    m = _mm_max_ps(m, _mm_movehl_ps(m, m));
    const float max_abs = _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)));
    const bool is_finite = _mm256_movemask_ps(finite) == 0xff;
    if (!is_finite || max_abs < SUMI_Q8_TINY) {
        memset(q, 0, SUMI_Q8_GROUP);
        *d = is_finite ? 0 : __builtin_nanf("");
        return;
    }
    *d = max_abs / 127.0f;
    const __m256 inverse = _mm256_set1_ps(127.0f / max_abs);
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7); /* undo the packs' lane order */
    for (int i = 0; i < SUMI_Q8_GROUP; i += 32) {
        __m256i v[4];
        for (int j = 0; j < 4; j++) v[j] = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + i + 8 * j), inverse));
        const __m256i low = _mm256_packs_epi32(v[0], v[1]), high = _mm256_packs_epi32(v[2], v[3]);
        const __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), order);
        _mm256_storeu_si256((__m256i *)(q + i), bytes);
    }
}

/* 32 sign bits to 32 bytes of +1 and -1. */
static inline __m256i expand_signs(const uint8_t *bits)
{
    int32_t word;
    memcpy(&word, bits, sizeof word);
    const __m256i spread = _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 3,
                                            3, 3, 3, 3, 3, 3, 3);
    const __m256i bit = _mm256_set1_epi64x((long long)0x8040201008040201ULL);
    const __m256i own = _mm256_and_si256(_mm256_shuffle_epi8(_mm256_set1_epi32(word), spread), bit);
    const __m256i is_clear = _mm256_cmpeq_epi8(own, _mm256_setzero_si256());
    return _mm256_or_si256(is_clear, _mm256_set1_epi8(1));
}

/* 32 two-bit codes (8 bytes) to 32 bytes of -1, 0, 1 and `three`. */
static inline __m256i expand_codes(const uint8_t *codes, int three)
{
    const __m256i table = _mm256_set1_epi32((int32_t)(0x000100ffu | (uint32_t)(three & 0xff) << 24));
    int64_t word;
    memcpy(&word, codes, sizeof word);
    /* each source byte into a 32-bit lane, its four codes into that lane's bytes */
    const __m256i bytes = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(word));
    const __m256i low = _mm256_or_si256(bytes, _mm256_slli_epi32(bytes, 6)); /* codes 0, 1 in bytes 0, 1 */
    const __m256i four = _mm256_or_si256(low, _mm256_slli_epi32(low, 12));   /* codes 2, 3 in bytes 2, 3 */
    return _mm256_shuffle_epi8(table, _mm256_and_si256(four, _mm256_set1_epi8(3)));
}

/* sum over pairs of w * q with w in -2..2, as 16-bit sums (at most 4 * 127 a pair) */
static inline __m256i multiply_pairs(__m256i w, __m256i q)
{
    return _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(q, w));
}

static inline __m256i load32(const int8_t *q) { return _mm256_loadu_si256((const __m256i *)q); }

/* The four totals of four registers of 16-bit sums, as floats. */
static inline __m128 reduce4(__m256i s0, __m256i s1, __m256i s2, __m256i s3)
{
    const __m256i one = _mm256_set1_epi16(1);
    const __m256i a = _mm256_hadd_epi32(_mm256_madd_epi16(s0, one), _mm256_madd_epi16(s1, one));
    const __m256i b = _mm256_hadd_epi32(_mm256_madd_epi16(s2, one), _mm256_madd_epi16(s3, one));
    const __m256i c = _mm256_hadd_epi32(a, b);
    return _mm_cvtepi32_ps(_mm_add_epi32(_mm256_castsi256_si128(c), _mm256_extracti128_si256(c, 1)));
}

static inline float load_half_f16c(const uint8_t *p)
{
    uint16_t h;
    memcpy(&h, p, sizeof h);
    return _cvtsh_ss(h);
}

static inline __m256i expand32(const uint8_t *block, int32_t i, block_kind kind)
{
    return kind.is_signs ? expand_signs(block + 2 + i / 8)
                         : expand_codes(block + kind.q2.codes + i / 4, kind.q2.three);
}

/* One weight row, n <= 4 activation rows. */
static inline void row_by_tokens(float *y, int64_t ld, const uint8_t *row, int32_t n_blocks, const sumi_q8 *x,
                                 int32_t first_token, int32_t n, block_kind kind)
{
    const size_t q_stride = (size_t)x->n_groups * SUMI_Q8_GROUP;
    const int8_t *q[4];
    const float *d[4];
    for (int32_t t = 0; t < 4; t++) { /* missing tokens repeat the last: computed, not stored */
        const size_t token = (size_t)first_token + (size_t)(t < n ? t : n - 1);
        q[t] = x->q + token * q_stride;
        d[t] = x->d + token * (size_t)x->n_groups;
    }
    __m128 acc = _mm_setzero_ps();
    for (int32_t b = 0; b < n_blocks; b++) {
        const uint8_t *block = row + (size_t)b * (size_t)kind.q2.bytes;
        const int32_t first = b * kind.q2.weights, g = first / SUMI_Q8_GROUP;
        __m256i s0 = _mm256_setzero_si256(), s1 = s0, s2 = s0, s3 = s0;
        for (int32_t i = 0; i < kind.q2.weights; i += 32) {
            const __m256i w = expand32(block, i, kind);
            s0 = _mm256_add_epi16(s0, multiply_pairs(w, load32(q[0] + first + i)));
            s1 = _mm256_add_epi16(s1, multiply_pairs(w, load32(q[1] + first + i)));
            s2 = _mm256_add_epi16(s2, multiply_pairs(w, load32(q[2] + first + i)));
            s3 = _mm256_add_epi16(s3, multiply_pairs(w, load32(q[3] + first + i)));
        }
        const __m128 dx = _mm_setr_ps(d[0][g], d[1][g], d[2][g], d[3][g]);
        const __m128 scale = _mm_mul_ps(_mm_set1_ps(load_half_f16c(block + kind.q2.scale)), dx);
        acc = _mm_fmadd_ps(reduce4(s0, s1, s2, s3), scale, acc);
    }
    float out[4];
    _mm_storeu_ps(out, acc);
    for (int32_t t = 0; t < n; t++) y[(first_token + t) * ld] = out[t];
}

/* n <= 4 weight rows, one activation row. */
static inline void rows_by_token(float *y, const uint8_t *w, size_t row_bytes, int32_t n, int32_t n_blocks,
                                 const int8_t *q, const float *d, block_kind kind)
{
    const uint8_t *row[4];
    for (int32_t r = 0; r < 4; r++) row[r] = w + (size_t)(r < n ? r : n - 1) * row_bytes;
    __m128 acc = _mm_setzero_ps();
    for (int32_t b = 0; b < n_blocks; b++) {
        const size_t at = (size_t)b * (size_t)kind.q2.bytes;
        const int32_t first = b * kind.q2.weights;
        __m256i s0 = _mm256_setzero_si256(), s1 = s0, s2 = s0, s3 = s0;
        for (int32_t i = 0; i < kind.q2.weights; i += 32) {
            const __m256i v = load32(q + first + i);
            s0 = _mm256_add_epi16(s0, multiply_pairs(expand32(row[0] + at, i, kind), v));
            s1 = _mm256_add_epi16(s1, multiply_pairs(expand32(row[1] + at, i, kind), v));
            s2 = _mm256_add_epi16(s2, multiply_pairs(expand32(row[2] + at, i, kind), v));
            s3 = _mm256_add_epi16(s3, multiply_pairs(expand32(row[3] + at, i, kind), v));
        }
        const size_t scale_at = at + (size_t)kind.q2.scale;
        const __m128 dw = _mm_setr_ps(load_half_f16c(row[0] + scale_at), load_half_f16c(row[1] + scale_at),
                                      load_half_f16c(row[2] + scale_at), load_half_f16c(row[3] + scale_at));
        const __m128 scale = _mm_mul_ps(dw, _mm_set1_ps(d[first / SUMI_Q8_GROUP]));
        acc = _mm_fmadd_ps(reduce4(s0, s1, s2, s3), scale, acc);
    }
    float out[4];
    _mm_storeu_ps(out, acc);
    for (int32_t r = 0; r < n; r++) y[r] = out[r];
}

static inline __attribute__((always_inline)) void gemm(float *y, int64_t ld, const uint8_t *w, size_t row_bytes,
                                                       int32_t n_rows, int32_t n_cols, const sumi_q8 *x,
                                                       int32_t n_tokens, block_kind kind)
{
    const int32_t n_blocks = n_cols / kind.q2.weights;
    if (n_tokens == 1) {
        for (int32_t r = 0; r < n_rows; r += 4)
            rows_by_token(y + r, w + (size_t)r * row_bytes, row_bytes, n_rows - r < 4 ? n_rows - r : 4, n_blocks,
                          x->q, x->d, kind);
        return;
    }
    for (int32_t t = 0; t < n_tokens; t += 4)
        for (int32_t r = 0; r < n_rows; r++)
            row_by_tokens(y + r, ld, w + (size_t)r * row_bytes, n_blocks, x, t, n_tokens - t < 4 ? n_tokens - t : 4,
                          kind);
}

DEFINE_GEMMS(gemm, avx2)
