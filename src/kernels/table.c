#include "kernels/kernels.h"

#include <string.h>

#include "base/cpu.h"
#include "kernels/variants.h"

/* A row: kernel, its field in the union, the function's name without the instruction set, the set, its needs. */
#define ROW(ID, field, name, set, needs)                                \
    {                                                                   \
        SUMI_KERNEL_##ID, #set, needs, { .field = sumi_##name##_##set } \
    }

#define ELEMENTWISE(set, needs)                                                                                   \
    ROW(AXPY_F32, axpy_f32, axpy_f32, set, needs), ROW(SCALE_F32, scale_f32, scale_f32, set, needs),              \
        ROW(SCALE_MUL_F32, scale_mul_f32, scale_mul_f32, set, needs), ROW(EXP_F32, exp_f32, exp_f32, set, needs), \
        ROW(SILU_MUL_F32, silu_mul_f32, silu_mul_f32, set, needs),                                                \
        ROW(ROTATE_F32, rotate_f32, rotate_f32, set, needs)

#define GEMM_Q2(set, needs)                                                                                         \
    ROW(GEMM_Q2_0, gemm_q8, gemm_q2_0_q8, set, needs), ROW(GEMM_Q2_0_G128, gemm_q8, gemm_q2_0_g128_q8, set, needs), \
        ROW(GEMM_Q2_0_G128_TAIL, gemm_q8, gemm_q2_0_g128_tail_q8, set, needs)

#define FLOAT_AND_HALF(set, needs)                                                                   \
    ROW(DOT_F32, dot_f32, dot_f32, set, needs), ROW(F16_TO_F32, f16_to_f32, f16_to_f32, set, needs), \
        ROW(F32_TO_F16, f32_to_f16, f32_to_f16, set, needs)

/* Weakest first within a kernel; the last usable row wins. The only place that knows what a build contains. */
static const sumi_kernel table[] = {
    ELEMENTWISE(scalar, 0),
    FLOAT_AND_HALF(scalar, 0),
    ROW(QUANTIZE_Q8, quantize_q8, quantize_q8, scalar, 0),
    ROW(GEMM_Q1_0, gemm_q8, gemm_q1_0_q8, scalar, 0),
    GEMM_Q2(scalar, 0),
#if defined(__x86_64__)
    ELEMENTWISE(avx2, SUMI_CPU_AVX2),
    FLOAT_AND_HALF(avx2, SUMI_CPU_AVX2),
    ROW(QUANTIZE_Q8, quantize_q8, quantize_q8, avx2, SUMI_CPU_AVX2),
    ROW(GEMM_Q1_0, gemm_q8, gemm_q1_0_q8, avx2, SUMI_CPU_AVX2),
    GEMM_Q2(avx2, SUMI_CPU_AVX2),
    ROW(GEMM_Q1_0, gemm_q8, gemm_q1_0_q8, avx512, SUMI_CPU_AVX2 | SUMI_CPU_AVX512),
#elif defined(__aarch64__)
    FLOAT_AND_HALF(neon, SUMI_CPU_NEON),
    ROW(GEMM_Q1_0, gemm_q8, gemm_q1_0_q8, neon, SUMI_CPU_NEON),
    GEMM_Q2(neon, SUMI_CPU_NEON),
#endif
};

const sumi_kernel *sumi_kernel_table(int32_t *n_rows)
{
    *n_rows = (int32_t)(sizeof table / sizeof table[0]);
    return table;
}

const char *sumi_kernel_name(sumi_kernel_id id)
{
    static const char *const names[SUMI_N_KERNELS] = {
        [SUMI_KERNEL_DOT_F32] = "dot_f32",
        [SUMI_KERNEL_AXPY_F32] = "axpy_f32",
        [SUMI_KERNEL_SCALE_F32] = "scale_f32",
        [SUMI_KERNEL_SCALE_MUL_F32] = "scale_mul_f32",
        [SUMI_KERNEL_EXP_F32] = "exp_f32",
        [SUMI_KERNEL_SILU_MUL_F32] = "silu_mul_f32",
        [SUMI_KERNEL_ROTATE_F32] = "rotate_f32",
        [SUMI_KERNEL_F16_TO_F32] = "f16_to_f32",
        [SUMI_KERNEL_F32_TO_F16] = "f32_to_f16",
        [SUMI_KERNEL_QUANTIZE_Q8] = "quantize_q8",
        [SUMI_KERNEL_GEMM_Q1_0] = "gemm_q1_0_q8",
        [SUMI_KERNEL_GEMM_Q2_0] = "gemm_q2_0_q8",
        [SUMI_KERNEL_GEMM_Q2_0_G128] = "gemm_q2_0_g128_q8",
        [SUMI_KERNEL_GEMM_Q2_0_G128_TAIL] = "gemm_q2_0_g128_tail_q8",
    };
    return id >= 0 && id < SUMI_N_KERNELS ? names[id] : "?";
}

static void choose(sumi_kernel_set *set, const sumi_kernel *row)
{
    switch (row->id) {
    case SUMI_KERNEL_DOT_F32:
        set->dot_f32 = row->fn.dot_f32;
        break;
    case SUMI_KERNEL_AXPY_F32:
        set->axpy_f32 = row->fn.axpy_f32;
        break;
    case SUMI_KERNEL_SCALE_F32:
        set->scale_f32 = row->fn.scale_f32;
        break;
    case SUMI_KERNEL_SCALE_MUL_F32:
        set->scale_mul_f32 = row->fn.scale_mul_f32;
        break;
    case SUMI_KERNEL_EXP_F32:
        set->exp_f32 = row->fn.exp_f32;
        break;
    case SUMI_KERNEL_SILU_MUL_F32:
        set->silu_mul_f32 = row->fn.silu_mul_f32;
        break;
    case SUMI_KERNEL_ROTATE_F32:
        set->rotate_f32 = row->fn.rotate_f32;
        break;
    case SUMI_KERNEL_F16_TO_F32:
        set->f16_to_f32 = row->fn.f16_to_f32;
        break;
    case SUMI_KERNEL_F32_TO_F16:
        set->f32_to_f16 = row->fn.f32_to_f16;
        break;
    case SUMI_KERNEL_QUANTIZE_Q8:
        set->quantize_q8 = row->fn.quantize_q8;
        break;
    case SUMI_KERNEL_GEMM_Q1_0:
        set->gemm_q8[SUMI_Q1_0] = row->fn.gemm_q8;
        break;
    case SUMI_KERNEL_GEMM_Q2_0:
        set->gemm_q8[SUMI_Q2_0] = row->fn.gemm_q8;
        break;
    case SUMI_KERNEL_GEMM_Q2_0_G128:
        set->gemm_q8[SUMI_Q2_0_G128] = row->fn.gemm_q8;
        break;
    case SUMI_KERNEL_GEMM_Q2_0_G128_TAIL:
        set->gemm_q8[SUMI_Q2_0_G128_TAIL] = row->fn.gemm_q8;
        break;
    case SUMI_N_KERNELS:
        break;
    }
}

sumi_kernel_set sumi_kernel_select(uint32_t features)
{
    sumi_kernel_set set = { .isa = "scalar" };
    uint32_t strongest = 0;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (table[i].needs & ~features) continue;
        choose(&set, &table[i]);
        if (table[i].needs > strongest) {
            strongest = table[i].needs;
            set.isa = table[i].isa;
        }
    }
    return set;
}

uint32_t sumi_kernel_isa_features(const char *isa, bool *known)
{
    static const struct {
        const char *name;
        uint32_t features;
    } levels[] = {
        { "scalar", 0 },
        { "avx2", SUMI_CPU_AVX2 },
        { "avx512", SUMI_CPU_AVX2 | SUMI_CPU_AVX512 },
        { "neon", SUMI_CPU_NEON },
    };
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        if (strcmp(isa, levels[i].name) == 0) {
            *known = true;
            return levels[i].features;
        }
    }
    *known = false;
    return 0;
}
