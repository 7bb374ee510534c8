/* What the integer kernels need to know of the block formats (layouts: src/quant). */
#ifndef SUMI_KERNELS_BLOCK_Q_H
#define SUMI_KERNELS_BLOCK_Q_H

#include <stdbool.h>

#include "base/half.h"

enum { Q1_0_BYTES = 18 }; /* fp16 scale, 16 bytes of signs */

#define SUMI_Q8_TINY 1e-30f /* a group whose largest value is below it counts as zero: 127 / m stays finite */

/* 2-bit formats differ in where things stand and in what code 3 means. */
typedef struct q2_layout {
    int32_t weights, bytes; /* per block */
    int32_t codes, scale;   /* byte offsets in a block */
    int32_t three;          /* code 3 stands for this times the scale */
} q2_layout;

#define Q2_0_LAYOUT ((q2_layout){ .weights = 64, .bytes = 18, .codes = 2, .scale = 0, .three = 2 })
#define Q2_0_G128_LAYOUT ((q2_layout){ .weights = 128, .bytes = 34, .codes = 2, .scale = 0, .three = 2 })
#define Q2_0_G128_TAIL_LAYOUT ((q2_layout){ .weights = 128, .bytes = 34, .codes = 0, .scale = 32, .three = 0 })

/* How a format's block looks to loops that serve all of them; the compiler specialises them for each constant. */
typedef struct block_kind {
    bool is_signs; /* Q1_0; else the 2-bit layout */
    q2_layout q2;
} block_kind;

#define SIGNS ((block_kind){ .is_signs = true, .q2 = { .weights = 128, .bytes = Q1_0_BYTES, .scale = 0 } })
#define CODES(layout) ((block_kind){ .q2 = layout })

/* The four products of one instruction set out of its gemm(..., block_kind). */
#define DEFINE_GEMM(gemm, name, kind)                                                                   \
    void name(float *y, int64_t ld, const uint8_t *w, size_t row_bytes, int32_t n_rows, int32_t n_cols, \
              const sumi_q8 *x, int32_t n_tokens)                                                       \
    {                                                                                                   \
        gemm(y, ld, w, row_bytes, n_rows, n_cols, x, n_tokens, kind);                                   \
    }
#define DEFINE_GEMMS(gemm, isa)                                              \
    DEFINE_GEMM(gemm, sumi_gemm_q1_0_q8_##isa, SIGNS)                        \
    DEFINE_GEMM(gemm, sumi_gemm_q2_0_q8_##isa, CODES(Q2_0_LAYOUT))           \
    DEFINE_GEMM(gemm, sumi_gemm_q2_0_g128_q8_##isa, CODES(Q2_0_G128_LAYOUT)) \
    DEFINE_GEMM(gemm, sumi_gemm_q2_0_g128_tail_q8_##isa, CODES(Q2_0_G128_TAIL_LAYOUT))

/* Little-endian, as in the file. */
static inline float load_half(const uint8_t *p) { return sumi_half_to_float((uint16_t)(p[0] | p[1] << 8)); }

#endif
