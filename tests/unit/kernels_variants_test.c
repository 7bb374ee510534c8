/* Every row of the kernel table against the scalar row of the same kernel, bit for bit, and the scalar rows
 * against the formulas in double. Shapes: 1, odd, primes, around the vector lengths; outputs are poisoned and
 * surrounded by canaries. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "kernels/kernels.h"
#include "quant/quant.h"

enum { MAX_N = 1024, CANARY = 16, MAX_TOKENS = 9, MAX_ROWS = 7 };

static const int32_t lengths[] = { 1,  2,  3,  7,  8,   9,   15,  16,  17,  31,  32,  33,
                                   63, 64, 65, 97, 127, 128, 129, 255, 256, 509, 1024 };
enum { N_LENGTHS = sizeof lengths / sizeof lengths[0] };

static uint64_t random_state = 7;

static uint32_t random_u32(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) * 2u + (uint32_t)(random_state >> 63);
}

/* Mostly ordinary numbers, some tiny, large or zero. */
static float random_float(void)
{
    const float unit = (float)(random_u32() >> 8) * 0x1p-23f - 1.0f;
    switch (random_u32() % 16) {
    case 0:
        return 0;
    case 1:
        return unit * 1e-6f;
    case 2:
        return unit * 1e3f;
    default:
        return unit;
    }
}

static void fill(float *x, int32_t n)
{
    for (int32_t i = 0; i < n; i++) x[i] = random_float();
}

static const sumi_kernel *scalar_row(sumi_kernel_id id)
{
    int32_t n;
    const sumi_kernel *rows = sumi_kernel_table(&n);
    for (int32_t i = 0; i < n; i++)
        if (rows[i].id == id && rows[i].needs == 0) return &rows[i];
    fail_msg("kernel %s has no scalar row", sumi_kernel_name(id));
    return NULL;
}

/* An output array of bytes with canaries on both sides and poison inside. */
typedef struct guarded {
    uint8_t *memory;
    size_t n_bytes;
} guarded;

static guarded guarded_new(size_t n_bytes)
{
    guarded g = { malloc(n_bytes + 2 * CANARY), n_bytes };
    assert_non_null(g.memory);
    memset(g.memory, 0xa5, n_bytes + 2 * CANARY);
    return g;
}

static void *guarded_data(guarded g) { return g.memory + CANARY; }

static void guarded_check_and_free(guarded g, const char *what)
{
    for (size_t i = 0; i < CANARY; i++)
        if (g.memory[i] != 0xa5 || g.memory[CANARY + g.n_bytes + i] != 0xa5)
            fail_msg("%s wrote outside its output", what);
    free(g.memory);
}

/* Run one kernel on inputs made from `seed`; the bytes of its result go to out, which holds max(n, 128) * 8 bytes. */
static size_t run_kernel(const sumi_kernel *k, int32_t n, uint64_t seed, void *out)
{
    random_state = seed;
    static float a[2 * MAX_N], b[2 * MAX_N], c[MAX_N];
    fill(a, 2 * n);
    fill(b, 2 * n);
    fill(c, n);
    const size_t bytes = (size_t)n * sizeof(float);
    float *y = out;
    switch (k->id) {
    case SUMI_KERNEL_DOT_F32:
        y[0] = k->fn.dot_f32(a, b, n);
        return sizeof(float);
    case SUMI_KERNEL_AXPY_F32:
        memcpy(y, b, bytes), k->fn.axpy_f32(y, a, c[0], n);
        return bytes;
    case SUMI_KERNEL_SCALE_F32:
        memcpy(y, b, bytes), k->fn.scale_f32(y, c[0], n);
        return bytes;
    case SUMI_KERNEL_SCALE_MUL_F32:
        k->fn.scale_mul_f32(y, a, b, c[0], n);
        return bytes;
    case SUMI_KERNEL_EXP_F32:
        k->fn.exp_f32(y, a, c[0], n);
        return bytes;
    case SUMI_KERNEL_SILU_MUL_F32:
        k->fn.silu_mul_f32(y, a, b, n);
        return bytes;
    case SUMI_KERNEL_ROTATE_F32:
        memcpy(y, a, 2 * bytes);
        if (seed % 2)
            k->fn.rotate_f32(y, y + n, 1, b, c, n);
        else
            k->fn.rotate_f32(y, y + 1, 2, b, c, n);
        return 2 * bytes;
    case SUMI_KERNEL_F16_TO_F32: {
        static uint16_t h[MAX_N];
        for (int32_t i = 0; i < n; i++) h[i] = (uint16_t)random_u32();
        k->fn.f16_to_f32(y, h, n);
        return bytes;
    }
    case SUMI_KERNEL_F32_TO_F16: {
        const float special[] = { NAN, INFINITY, -INFINITY, 65504, 65519.99f, 65520, 1e-8f, 6.1e-5f, -0.0f };
        if (seed % 3 == 0)
            a[random_u32() % (uint32_t)n] = special[random_u32() % (sizeof special / sizeof special[0])];
        k->fn.f32_to_f16(out, a, n);
        return bytes / 2;
    }
    case SUMI_KERNEL_QUANTIZE_Q8: {
        const int32_t m = n < SUMI_Q8_GROUP ? n : SUMI_Q8_GROUP;
        if (seed % 5 == 0) a[random_u32() % (uint32_t)m] = seed % 2 ? NAN : -INFINITY;
        if (seed % 7 == 0) memset(a, 0, sizeof a);
        float d;
        k->fn.quantize_q8(out, &d, a, m);
        if (isnan(d)) d = 12345; /* any NaN is as good as another */
        memcpy((uint8_t *)out + SUMI_Q8_GROUP, &d, sizeof d);
        return SUMI_Q8_GROUP + sizeof d;
    }
    default:
        fail_msg("kernel %s has no case in this test", sumi_kernel_name(k->id));
        return 0;
    }
}

static bool is_gemm(sumi_kernel_id id) { return id >= SUMI_KERNEL_GEMM_Q1_0; }

static void variants_equal_scalar(void **state)
{
    (void)state;
    int32_t n_rows, n_compared = 0;
    const sumi_kernel *rows = sumi_kernel_table(&n_rows);
    for (int32_t i = 0; i < n_rows; i++) {
        if (is_gemm(rows[i].id) || rows[i].needs == 0) continue;
        if (rows[i].needs & ~sumi_cpu_features()) {
            print_message("skipped %s %s: this CPU lacks it\n", sumi_kernel_name(rows[i].id), rows[i].isa);
            continue;
        }
        const sumi_kernel *reference = scalar_row(rows[i].id);
        for (int32_t l = 0; l < N_LENGTHS; l++) {
            for (uint64_t seed = 1; seed <= 20; seed++) {
                const size_t room = (size_t)(lengths[l] < 128 ? 128 : lengths[l]) * 8;
                guarded expected = guarded_new(room), got = guarded_new(room);
                const size_t n_bytes = run_kernel(reference, lengths[l], seed, guarded_data(expected));
                assert_int_equal(run_kernel(&rows[i], lengths[l], seed, guarded_data(got)), n_bytes);
                if (memcmp(guarded_data(expected), guarded_data(got), room) != 0)
                    fail_msg("%s %s differs from scalar: n %d, seed %d", sumi_kernel_name(rows[i].id), rows[i].isa,
                             (int)lengths[l], (int)seed);
                guarded_check_and_free(expected, "scalar");
                guarded_check_and_free(got, rows[i].isa);
                n_compared++;
            }
        }
    }
    print_message("%d comparisons\n", (int)n_compared);
#if defined(__x86_64__) || defined(__aarch64__)
    if (sumi_cpu_features()) assert_true(n_compared > 0);
#endif
}

static sumi_dtype gemm_dtype(sumi_kernel_id id)
{
    static const sumi_dtype types[] = { SUMI_Q1_0, SUMI_Q2_0, SUMI_Q2_0_G128, SUMI_Q2_0_G128_TAIL };
    return types[id - SUMI_KERNEL_GEMM_Q1_0];
}

/* Random blocks of a format: any bits, scales of ordinary size. */
static void random_blocks(uint8_t *w, const sumi_format *f, int32_t n_blocks)
{
    for (int32_t b = 0; b < n_blocks; b++) {
        uint8_t *block = w + b * f->block_bytes;
        for (int32_t i = 0; i < f->block_bytes; i++) block[i] = (uint8_t)random_u32();
        const uint16_t half = (uint16_t)(0x2000 + random_u32() % 0x1800); /* 0.0078 to 1 */
        memcpy(block + (f->type == SUMI_Q2_0_G128_TAIL ? 32 : 0), &half, sizeof half);
    }
}

typedef struct gemm_case {
    int32_t n_rows, n_cols, n_tokens;
} gemm_case;

static void check_gemm(const sumi_kernel *k, gemm_case c)
{
    const sumi_format *f = sumi_format_of(gemm_dtype(k->id));
    const int32_t n_groups = (c.n_cols + SUMI_Q8_GROUP - 1) / SUMI_Q8_GROUP;
    const size_t row_bytes = (size_t)sumi_format_bytes(f, (uint64_t)c.n_cols);
    uint8_t *w = malloc(row_bytes * (size_t)c.n_rows);
    int8_t *q = malloc((size_t)c.n_tokens * (size_t)n_groups * SUMI_Q8_GROUP);
    float *d = malloc((size_t)c.n_tokens * (size_t)n_groups * sizeof *d);
    float *row = malloc((size_t)c.n_cols * sizeof *row);
    const size_t ld = (size_t)c.n_rows + 3,
                 out_bytes = ((size_t)(c.n_tokens - 1) * ld + (size_t)c.n_rows) * sizeof(float);
    guarded got = guarded_new(out_bytes), expected = guarded_new(out_bytes);
    assert_true(w && q && d && row);
    random_blocks(w, f, c.n_rows * (c.n_cols / f->block_weights));
    for (int32_t i = 0; i < c.n_tokens * n_groups * SUMI_Q8_GROUP; i++)
        q[i] = (int8_t)((int32_t)(random_u32() % 255) - 127);
    for (int32_t i = 0; i < c.n_tokens * n_groups; i++) d[i] = 0.01f + fabsf(random_float()) * 0.01f;
    const sumi_q8 x = { q, d, n_groups };

    k->fn.gemm_q8(guarded_data(got), (int64_t)ld, w, row_bytes, c.n_rows, c.n_cols, &x, c.n_tokens);
    scalar_row(k->id)->fn.gemm_q8(guarded_data(expected), (int64_t)ld, w, row_bytes, c.n_rows, c.n_cols, &x,
                                  c.n_tokens);
    if (memcmp(guarded_data(got), guarded_data(expected), out_bytes) != 0) /* gaps between rows too: poison in both */
        fail_msg("%s %s differs from scalar: %d x %d, %d tokens", sumi_kernel_name(k->id), k->isa, (int)c.n_rows,
                 (int)c.n_cols, (int)c.n_tokens);
    for (int32_t r = 0; r < c.n_rows; r++) { /* and the scalar one is what the format says */
        f->to_float(row, w + (size_t)r * row_bytes, c.n_cols);
        for (int32_t t = 0; t < c.n_tokens; t++) {
            double sum = 0, magnitude = 0;
            for (int32_t i = 0; i < c.n_cols; i++) {
                const double p = (double)row[i] * q[t * n_groups * SUMI_Q8_GROUP + i] *
                                 (double)d[t * n_groups + i / SUMI_Q8_GROUP];
                sum += p;
                magnitude += fabs(p);
            }
            const float y = ((float *)guarded_data(expected))[(size_t)t * ld + (size_t)r];
            /* per block: the product of the scales and the addition round once each */
            if (!(fabs(y - sum) <= 2 * (double)(c.n_cols / f->block_weights + 1) * 0x1p-24 * magnitude))
                fail_msg("%s: row %d, token %d: %.9g, formula %.9g", f->name, (int)r, (int)t, (double)y, sum);
        }
    }
    guarded_check_and_free(got, k->isa);
    guarded_check_and_free(expected, "scalar");
    free(w);
    free(q);
    free(d);
    free(row);
}

static void gemm_equals_formula(void **state)
{
    (void)state;
    int32_t n_rows;
    const sumi_kernel *rows = sumi_kernel_table(&n_rows);
    for (int32_t i = 0; i < n_rows; i++) {
        if (!is_gemm(rows[i].id) || rows[i].needs & ~sumi_cpu_features()) continue;
        const int32_t block = sumi_format_of(gemm_dtype(rows[i].id))->block_weights;
        for (int32_t n_cols = block; n_cols <= 5 * 128; n_cols += block)
            for (int32_t n_tokens = 1; n_tokens <= MAX_TOKENS; n_tokens++)
                for (int32_t r = 1; r <= MAX_ROWS; r += 2) check_gemm(&rows[i], (gemm_case){ r, n_cols, n_tokens });
    }
}

static void dot_is_accurate(void **state)
{
    (void)state;
    static float a[MAX_N], b[MAX_N];
    for (int32_t l = 0; l < N_LENGTHS; l++) {
        fill(a, lengths[l]);
        fill(b, lengths[l]);
        double sum = 0, magnitude = 0;
        for (int32_t i = 0; i < lengths[l]; i++) sum += (double)a[i] * b[i], magnitude += fabs((double)a[i] * b[i]);
        const float got = scalar_row(SUMI_KERNEL_DOT_F32)->fn.dot_f32(a, b, lengths[l]);
        /* each product passes through at most n/32 + 1 additions in its lane and 5 between lanes */
        assert_true(fabs(got - sum) <= (lengths[l] / 32 + 6) * 0x1p-24 * magnitude);
    }
}

static void exp_is_accurate(void **state)
{
    (void)state;
    sumi_exp_f32_fn *exp_f32 = scalar_row(SUMI_KERNEL_EXP_F32)->fn.exp_f32;
    double worst = 0;
    for (float x = -103; x < 88.7f; x += 0.00371f) {
        float y;
        exp_f32(&y, &x, 0, 1);
        const double exact = exp((double)x);
        /* in units of the last place of the result; below 2^-126 places stop shrinking */
        const double ulp = exact < 0x1p-126 ? 0x1p-149 : ldexp(1, ilogb(exact) - 23);
        const double error = fabs(y - exact) / ulp;
        if (error > worst) worst = error;
    }
    print_message("exp: worst error %.3f units in the last place\n", worst);
    assert_true(worst <= 1.0);
    const float special[] = { -INFINITY, -200, 0, 100, INFINITY, NAN };
    float y[6];
    exp_f32(y, special, 0, 6);
    assert_true(y[0] == 0 && y[1] == 0 && y[2] == 1 && y[3] == INFINITY && y[4] == INFINITY && isnan(y[5]));
}

static void quantize_is_nearest(void **state)
{
    (void)state;
    sumi_quantize_q8_fn *quantize = scalar_row(SUMI_KERNEL_QUANTIZE_Q8)->fn.quantize_q8;
    float x[SUMI_Q8_GROUP], d;
    int8_t q[SUMI_Q8_GROUP];
    fill(x, SUMI_Q8_GROUP);
    quantize(q, &d, x, SUMI_Q8_GROUP);
    for (int i = 0; i < SUMI_Q8_GROUP; i++) assert_true(fabs((double)x[i] - (double)d * q[i]) <= 0.5001 * (double)d);
    x[5] = NAN;
    quantize(q, &d, x, SUMI_Q8_GROUP);
    assert_true(isnan(d)); /* never passes for a number */
    memset(x, 0, sizeof x);
    quantize(q, &d, x, SUMI_Q8_GROUP);
    assert_true(d == 0 && q[0] == 0);
}

static void every_kernel_is_chosen(void **state)
{
    (void)state;
    /* What select chooses is the last row whose needs are met, whatever the features. */
    const uint32_t sets[] = { 0, SUMI_CPU_AVX2, SUMI_CPU_AVX2 | SUMI_CPU_AVX512, SUMI_CPU_AVX512, SUMI_CPU_NEON };
    int32_t n_rows;
    const sumi_kernel *rows = sumi_kernel_table(&n_rows);
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        const sumi_kernel *dot = NULL, *q1 = NULL;
        for (int32_t r = 0; r < n_rows; r++) {
            if (rows[r].needs & ~sets[i]) continue;
            if (rows[r].id == SUMI_KERNEL_DOT_F32) dot = &rows[r];
            if (rows[r].id == SUMI_KERNEL_GEMM_Q1_0) q1 = &rows[r];
        }
        const sumi_kernel_set set = sumi_kernel_select(sets[i]);
        assert_true(dot && q1 && set.dot_f32 == dot->fn.dot_f32 && set.gemm_q8[SUMI_Q1_0] == q1->fn.gemm_q8);
    }
    const sumi_kernel_set scalar = sumi_kernel_select(0);
    assert_string_equal(scalar.isa, "scalar");
    assert_true(scalar.dot_f32 && scalar.axpy_f32 && scalar.scale_f32 && scalar.scale_mul_f32 && scalar.exp_f32 &&
                scalar.silu_mul_f32 && scalar.rotate_f32 && scalar.f16_to_f32 && scalar.f32_to_f16 &&
                scalar.quantize_q8 && scalar.gemm_q8[SUMI_Q1_0] && scalar.gemm_q8[SUMI_Q2_0] &&
                scalar.gemm_q8[SUMI_Q2_0_G128] && scalar.gemm_q8[SUMI_Q2_0_G128_TAIL]);
    bool known;
    assert_int_equal(sumi_kernel_isa_features("scalar", &known), 0);
    assert_true(known);
    sumi_kernel_isa_features("avx1024", &known);
    assert_false(known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kernel_is_chosen), cmocka_unit_test(variants_equal_scalar),
        cmocka_unit_test(gemm_equals_formula),    cmocka_unit_test(dot_is_accurate),
        cmocka_unit_test(exp_is_accurate),        cmocka_unit_test(quantize_is_nearest),
    };
    return cmocka_run_group_tests_name("kernels", tests, NULL, NULL);
}
