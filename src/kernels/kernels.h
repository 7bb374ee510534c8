/* Compute kernels of the CPU: contracts, and one table of their variants per instruction set.
 *
 * A kernel works on plain memory, in one thread, and knows nothing of ops, devices or buffers. Every variant
 * of a kernel gives the same bits: where a sum of floats is involved, the contract fixes its order. That is what
 * makes a result independent of the machine, the thread count and the batch (docs/numerics.md). */
#ifndef SUMI_KERNELS_KERNELS_H
#define SUMI_KERNELS_KERNELS_H

#include "sumi_kernels.h"

enum { SUMI_Q8_GROUP = 128 }; /* activations per int8 scale */

/* sum_i a[i] b[i]. Order: lane j of 32 sums the elements j, j+32, j+64, ... by fused multiply-add from 0, the
 * input being padded with zeros to a multiple of 32; then the lanes are added in halves: j with j+16, j+8, ... */
typedef float sumi_dot_f32_fn(const float *a, const float *b, int64_t n);

/* y[i] = fma(a, x[i], y[i]). */
typedef void sumi_axpy_f32_fn(float *y, const float *x, float a, int64_t n);

/* y[i] = y[i] * a. */
typedef void sumi_scale_f32_fn(float *y, float a, int64_t n);

/* y[i] = (x[i] * s) * w[i]; y may be x. */
typedef void sumi_scale_mul_f32_fn(float *y, const float *x, const float *w, float s, int64_t n);

/* y[i] = exp(x[i] - shift), within 1 unit in the last place. Underflow gives 0; exp(-inf) is 0; y may be x. */
typedef void sumi_exp_f32_fn(float *y, const float *x, float shift, int64_t n);

/* y[i] = g[i] / (1 + exp(-g[i])) * u[i]. */
typedef void sumi_silu_mul_f32_fn(float *y, const float *g, const float *u, int64_t n);

/* Rotate n pairs (u[i], v[i]) in place: u' = u c - v s, v' = v c + u s; pair i is at u[i * stride], v[i * stride]. */
typedef void sumi_rotate_f32_fn(float *u, float *v, int64_t stride, const float *c, const float *s, int64_t n);

/* Widen and round fp16, nearest even. */
typedef void sumi_f16_to_f32_fn(float *dst, const uint16_t *src, int64_t n);
typedef void sumi_f32_to_f16_fn(uint16_t *dst, const float *src, int64_t n);

/* Round one group of n <= 128 floats to int8: m = max|x|, q[i] = nearest even of x[i] * (127 / m), *d = m / 127;
 * q is padded with zeros to 128. m below 1e-30: all zeros, d = 0. A NaN or infinity in the group: q = 0 and
 * d = NaN, so that it is seen in every product and never passes for a number. */
typedef void sumi_quantize_q8_fn(int8_t *q, float *d, const float *x, int32_t n);

/* Activations rounded by sumi_quantize_q8_fn. */
typedef struct sumi_q8 {
    const int8_t *q; /* [n_tokens][n_groups * 128] */
    const float *d;  /* [n_tokens][n_groups] */
    int32_t n_groups;
} sumi_q8;

/* y[t * ld + r] = dot(weight row r, activation row t). Rows are blocks of one format, row_bytes apart.
 * Order: the weight blocks of a row from first to last; block b with integer sum s (exact), weight scale dw
 * and the scale dx of the group it lies in adds as acc = fma((float)s, dw * dx, acc), from 0. */
typedef void sumi_gemm_q8_fn(float *y, int64_t ld, const uint8_t *w, size_t row_bytes, int32_t n_rows, int32_t n_cols,
                             const sumi_q8 *x, int32_t n_tokens);

typedef enum sumi_kernel_id {
    SUMI_KERNEL_DOT_F32,
    SUMI_KERNEL_AXPY_F32,
    SUMI_KERNEL_SCALE_F32,
    SUMI_KERNEL_SCALE_MUL_F32,
    SUMI_KERNEL_EXP_F32,
    SUMI_KERNEL_SILU_MUL_F32,
    SUMI_KERNEL_ROTATE_F32,
    SUMI_KERNEL_F16_TO_F32,
    SUMI_KERNEL_F32_TO_F16,
    SUMI_KERNEL_QUANTIZE_Q8,
    SUMI_KERNEL_GEMM_Q1_0,
    SUMI_KERNEL_GEMM_Q2_0,
    SUMI_KERNEL_GEMM_Q2_0_G128,
    SUMI_KERNEL_GEMM_Q2_0_G128_TAIL,
    SUMI_N_KERNELS
} sumi_kernel_id;

typedef union sumi_kernel_fn {
    sumi_dot_f32_fn *dot_f32;
    sumi_axpy_f32_fn *axpy_f32;
    sumi_scale_f32_fn *scale_f32;
    sumi_scale_mul_f32_fn *scale_mul_f32;
    sumi_exp_f32_fn *exp_f32;
    sumi_silu_mul_f32_fn *silu_mul_f32;
    sumi_rotate_f32_fn *rotate_f32;
    sumi_f16_to_f32_fn *f16_to_f32;
    sumi_f32_to_f16_fn *f32_to_f16;
    sumi_quantize_q8_fn *quantize_q8;
    sumi_gemm_q8_fn *gemm_q8;
} sumi_kernel_fn;

typedef struct sumi_kernel {
    sumi_kernel_id id;
    const char *isa; /* "scalar", "avx2", ... */
    uint32_t needs;  /* SUMI_CPU_* bits the code executes */
    sumi_kernel_fn fn;
} sumi_kernel;

/* Every variant in this build, weakest first within a kernel. */
const sumi_kernel *sumi_kernel_table(int32_t *n_rows);
const char *sumi_kernel_name(sumi_kernel_id id); /* "dot_f32" */

/* One function per kernel: the last row of the table whose needs the given features cover. */
typedef struct sumi_kernel_set {
    const char *isa; /* of the strongest row chosen */
    sumi_dot_f32_fn *dot_f32;
    sumi_axpy_f32_fn *axpy_f32;
    sumi_scale_f32_fn *scale_f32;
    sumi_scale_mul_f32_fn *scale_mul_f32;
    sumi_exp_f32_fn *exp_f32;
    sumi_silu_mul_f32_fn *silu_mul_f32;
    sumi_rotate_f32_fn *rotate_f32;
    sumi_f16_to_f32_fn *f16_to_f32;
    sumi_f32_to_f16_fn *f32_to_f16;
    sumi_quantize_q8_fn *quantize_q8;
    sumi_gemm_q8_fn *gemm_q8[SUMI_N_DTYPES]; /* NULL: the format has no integer kernel */
} sumi_kernel_set;

sumi_kernel_set sumi_kernel_select(uint32_t features);

/* Features up to and including an instruction set by name, or 0 with *known false. */
uint32_t sumi_kernel_isa_features(const char *isa, bool *known);

#endif
