/* Prototypes of all kernel variants, so that table.c and their definitions are checked against each other.
 * Which of them a build contains, table.c decides. */
#ifndef SUMI_KERNELS_VARIANTS_H
#define SUMI_KERNELS_VARIANTS_H

#include "kernels/kernels.h"

#define SUMI_DECLARE_ELEMENTWISE(isa)               \
    sumi_axpy_f32_fn sumi_axpy_f32_##isa;           \
    sumi_scale_f32_fn sumi_scale_f32_##isa;         \
    sumi_scale_mul_f32_fn sumi_scale_mul_f32_##isa; \
    sumi_exp_f32_fn sumi_exp_f32_##isa;             \
    sumi_silu_mul_f32_fn sumi_silu_mul_f32_##isa;   \
    sumi_rotate_f32_fn sumi_rotate_f32_##isa

#define SUMI_DECLARE_Q2(isa)                      \
    sumi_gemm_q8_fn sumi_gemm_q2_0_q8_##isa;      \
    sumi_gemm_q8_fn sumi_gemm_q2_0_g128_q8_##isa; \
    sumi_gemm_q8_fn sumi_gemm_q2_0_g128_tail_q8_##isa

SUMI_DECLARE_ELEMENTWISE(scalar);
SUMI_DECLARE_Q2(scalar);
sumi_dot_f32_fn sumi_dot_f32_scalar;
sumi_f16_to_f32_fn sumi_f16_to_f32_scalar;
sumi_f32_to_f16_fn sumi_f32_to_f16_scalar;
sumi_quantize_q8_fn sumi_quantize_q8_scalar;
sumi_gemm_q8_fn sumi_gemm_q1_0_q8_scalar;

SUMI_DECLARE_ELEMENTWISE(avx2);
SUMI_DECLARE_Q2(avx2);
sumi_dot_f32_fn sumi_dot_f32_avx2;
sumi_f16_to_f32_fn sumi_f16_to_f32_avx2;
sumi_f32_to_f16_fn sumi_f32_to_f16_avx2;
sumi_quantize_q8_fn sumi_quantize_q8_avx2;
sumi_gemm_q8_fn sumi_gemm_q1_0_q8_avx2;

sumi_gemm_q8_fn sumi_gemm_q1_0_q8_avx512;

sumi_dot_f32_fn sumi_dot_f32_neon;
sumi_f16_to_f32_fn sumi_f16_to_f32_neon;
sumi_f32_to_f16_fn sumi_f32_to_f16_neon;
sumi_gemm_q8_fn sumi_gemm_q1_0_q8_neon;
SUMI_DECLARE_Q2(neon);

#endif
