/* Block formats: values against recorded ones and against blocks written by hand, sizes and names, and encoders
 * against error bounds that follow from the format. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/half.h"
#include "quant/quant.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WEIGHTS = 256, MAX_BYTES = 256 };

/* ---- Helpers ------------------------------------------------------------------------------------------- */

static void put_half(uint8_t *at, float value)
{
    const uint16_t h = sumi_float_to_half(value);
    at[0] = (uint8_t)h;
    at[1] = (uint8_t)(h >> 8);
}

static void expect_bits(const char *what, const float *got, const float *want, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (sumi_float_bits(got[i]) != sumi_float_bits(want[i]))
            fail_msg("%s: weight %lld is %.9g, not %.9g", what, (long long)i, (double)got[i], (double)want[i]);
}

/* xorshift32: the same weights everywhere. */
static uint32_t next_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static float random_weight(uint32_t *state) { return (float)(int32_t)next_random(state) * 0x1p-31f; }

static void decode(sumi_dtype type, float *dst, const void *block)
{
    const sumi_format *f = sumi_format_of(type);
    f->to_float(dst, block, f->block_weights);
}

/* ---- Recorded values ------------------------------------------------------------------------------------ */

typedef struct golden {
    uint32_t n_blocks, block_bytes, block_weights;
    uint8_t *blocks;
    float *values;
    int64_t n;
} golden;

static void *read_items(FILE *file, size_t n, size_t item_bytes)
{
    void *items = malloc(n * item_bytes);
    assert_non_null(items);
    assert_int_equal(fread(items, item_bytes, n, file), n);
    return items;
}

static golden read_golden(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/golden/block-%s.bin", SUMI_TEST_DATA, name);
    FILE *file = fopen(path, "rb");
    if (!file) fail_msg("%s: cannot be opened", path);
    golden g;
    uint32_t *head = read_items(file, 3, sizeof *head);
    g.n_blocks = head[0];
    g.block_bytes = head[1];
    g.block_weights = head[2];
    free(head);
    g.n = (int64_t)g.n_blocks * g.block_weights;
    g.blocks = read_items(file, (size_t)g.n_blocks * g.block_bytes, 1);
    g.values = read_items(file, (size_t)g.n, sizeof *g.values);
    assert_int_equal(fgetc(file), EOF);
    fclose(file);
    return g;
}

/* Every format bit for bit: all steps of a decoder are float32 operations in ggml's order, unfused. */
static void check_golden(sumi_dtype type)
{
    const sumi_format *f = sumi_format_of(type);
    golden g = read_golden(f->name);
    assert_true(g.n_blocks > 0);
    assert_int_equal(g.block_bytes, f->block_bytes);
    assert_int_equal(g.block_weights, f->block_weights);
    const size_t n_bytes = sumi_format_bytes(f, (uint64_t)g.n);
    float *got = malloc((size_t)g.n * sizeof *got);
    uint8_t *unaligned = malloc(n_bytes + 1);
    assert_non_null(got);
    assert_non_null(unaligned);

    f->to_float(got, g.blocks, g.n);
    expect_bits(f->name, got, g.values, g.n);
    memcpy(unaligned + 1, g.blocks, n_bytes);
    memset(got, 0xff, (size_t)g.n * sizeof *got);
    f->to_float(got, unaligned + 1, g.n);
    expect_bits(f->name, got, g.values, g.n);

    free(unaligned);
    free(got);
    free(g.blocks);
    free(g.values);
}

static void recorded_values(void **state)
{
    (void)state;
    static const sumi_dtype types[] = {
        SUMI_F16,  SUMI_BF16, SUMI_Q2_K, SUMI_Q3_K, SUMI_Q4_0, SUMI_Q4_1,  SUMI_Q4_K,
        SUMI_Q5_0, SUMI_Q5_1, SUMI_Q5_K, SUMI_Q6_K, SUMI_Q8_0, SUMI_TQ1_0, SUMI_TQ2_0
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) check_golden(types[i]);
}

/* ---- Blocks by hand -------------------------------------------------------------------------------------- */

static void q1_0_bit_order(void **state)
{
    (void)state;
    uint8_t block[18] = { 0 };
    float got[128], want[128];
    put_half(block, 0.5f);
    block[2] = 0x01;      /* weight 0 */
    block[2 + 1] = 0x80;  /* weight 15 */
    block[2 + 15] = 0x42; /* weights 121, 126 */
    for (int j = 0; j < 128; j++) want[j] = j == 0 || j == 15 || j == 121 || j == 126 ? 0.5f : -0.5f;
    decode(SUMI_Q1_0, got, block);
    expect_bits("Q1_0", got, want, 128);
}

/* 0x64 = 01 10 01 00: codes 0, 1, 2, 1 from the low end. */
static void check_pairs(sumi_dtype type, size_t scale_at, size_t codes_at, uint8_t byte, const float pattern[4])
{
    const sumi_format *f = sumi_format_of(type);
    uint8_t block[MAX_BYTES];
    float got[MAX_WEIGHTS], want[MAX_WEIGHTS];
    memset(block + codes_at, byte, (size_t)f->block_weights / 4);
    put_half(block + scale_at, 0.25f);
    for (int j = 0; j < f->block_weights; j++) want[j] = 0.25f * pattern[j % 4];
    decode(type, got, block);
    expect_bits(f->name, got, want, f->block_weights);
}

static void q2_0_codes(void **state)
{
    (void)state;
    static const float ternary[4] = { -1, 0, 1, 0 };
    check_pairs(SUMI_Q2_0, 0, 2, 0x64, ternary);
    check_pairs(SUMI_Q2_0_G128, 0, 2, 0x64, ternary);
    check_pairs(SUMI_Q2_0_G128_TAIL, 32, 0, 0x64, ternary);
}

static void q2_0_code_three(void **state)
{
    (void)state;
    /* 0xe4 = 11 10 01 00 */
    check_pairs(SUMI_Q2_0, 0, 2, 0xe4, (const float[4]){ -1, 0, 1, 2 });
    check_pairs(SUMI_Q2_0_G128, 0, 2, 0xe4, (const float[4]){ -1, 0, 1, 2 });
    check_pairs(SUMI_Q2_0_G128_TAIL, 32, 0, 0xe4, (const float[4]){ -1, 0, 1, 0 });
}

/* A decoder that reads a neighbour's scale, or steps by the wrong size, is caught by the second block. */
static void consecutive_blocks(void **state)
{
    (void)state;
    static const struct {
        sumi_dtype type;
        size_t scale_at;
        uint8_t fill; /* every code byte; decodes to +d */
    } cases[] = { { SUMI_Q1_0, 0, 0xff },      { SUMI_Q2_0, 0, 0xaa },
                  { SUMI_Q2_0_G128, 0, 0xaa }, { SUMI_Q2_0_G128_TAIL, 32, 0xaa },
                  { SUMI_TQ2_0, 64, 0xaa },    { SUMI_TQ1_0, 52, 0xff }, /* ceil(242 * 256 / 243): five digits of 2 */
                  { SUMI_Q8_0, 0, 0x01 },      { SUMI_Q4_0, 0, 0x99 } };
    static const float scales[3] = { 0.5f, -3.0f, 0x1.8p-20f }; /* the last is subnormal in fp16 */
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const sumi_format *f = sumi_format_of(cases[c].type);
        uint8_t blocks[3 * MAX_BYTES];
        float got[3 * MAX_WEIGHTS], want[3 * MAX_WEIGHTS];
        memset(blocks, cases[c].fill, sizeof blocks);
        for (int i = 0; i < 3; i++) {
            put_half(blocks + i * f->block_bytes + cases[c].scale_at, scales[i]);
            for (int j = 0; j < f->block_weights; j++) want[i * f->block_weights + j] = scales[i];
        }
        f->to_float(got, blocks, 3 * (int64_t)f->block_weights);
        expect_bits(f->name, got, want, 3 * (int64_t)f->block_weights);
    }
}

static void subnormal_scales(void **state)
{
    (void)state;
    uint8_t block[34] = { 0x01, 0x00 }; /* 2^-24, the smallest */
    float got[128];
    decode(SUMI_Q1_0, got, block);
    assert_true(got[0] == -0x1p-24f);
    block[0] = 0xff;
    block[1] = 0x03; /* 1023 2^-24, the largest subnormal */
    block[2] = 0xff;
    decode(SUMI_Q2_0, got, block);
    assert_true(got[0] == 2 * 0x1.ff8p-15f);
}

/* The orders that are not sequential: one weight set, found at its place. */
static void strided_orders(void **state)
{
    (void)state;
    uint8_t block[MAX_BYTES];
    float got[MAX_WEIGHTS];

    memset(block, 0x55, 64); /* TQ2_0, all zero */
    put_half(block + 64, 1.0f);
    block[32 + 5] = 0x95; /* plane 3 of byte 5 in half 1 */
    decode(SUMI_TQ2_0, got, block);
    for (int j = 0; j < 256; j++) assert_true(got[j] == (j == 128 + 3 * 32 + 5 ? 1.0f : 0.0f));

    memset(block, 0x88, 18); /* Q4_0, all zero */
    put_half(block, 1.0f);
    block[2 + 3] = 0xf8; /* high nibble of byte 3 */
    decode(SUMI_Q4_0, got, block);
    for (int j = 0; j < 32; j++) assert_true(got[j] == (j == 16 + 3 ? 7.0f : 0.0f));
}

/* ---- Sizes and names -------------------------------------------------------------------------------------- */

static void sizes(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t gguf_id;
        int32_t weights, bytes;
    } want[SUMI_N_DTYPES] = {
        { "F32", 0, 1, 4 },
        { "F16", 1, 1, 2 },
        { "BF16", 30, 1, 2 },
        { "Q1_0", 41, 128, 18 },
        { "Q2_0", 42, 64, 18 },
        { "Q2_0_G128", 142, 128, 34 },
        { "Q2_0_G128_TAIL", 42, 128, 34 },
        { "TQ1_0", 34, 256, 54 },
        { "TQ2_0", 35, 256, 66 },
        { "Q8_0", 8, 32, 34 },
        { "Q4_0", 2, 32, 18 },
        { "Q4_1", 3, 32, 20 },
        { "Q5_0", 6, 32, 22 },
        { "Q5_1", 7, 32, 24 },
        { "Q2_K", 10, 256, 84 },
        { "Q3_K", 11, 256, 110 },
        { "Q4_K", 12, 256, 144 },
        { "Q5_K", 13, 256, 176 },
        { "Q6_K", 14, 256, 210 },
    };
    for (int i = 0; i < SUMI_N_DTYPES; i++) {
        const sumi_format *f = sumi_format_of((sumi_dtype)i);
        assert_int_equal(f->type, i);
        assert_string_equal(f->name, want[i].name);
        assert_string_equal(sumi_dtype_name((sumi_dtype)i), want[i].name);
        assert_int_equal(f->gguf_id, want[i].gguf_id);
        assert_int_equal(sumi_dtype_block_weights((sumi_dtype)i), want[i].weights);
        assert_int_equal(sumi_dtype_block_bytes((sumi_dtype)i), want[i].bytes);
        assert_int_equal(sumi_format_bytes(f, 3 * (uint64_t)want[i].weights), 3 * want[i].bytes);
        assert_non_null(f->to_float);
        if (i != SUMI_Q2_0_G128_TAIL) assert_ptr_equal(sumi_format_of_gguf(want[i].gguf_id), f);
    }
    assert_int_equal(sumi_format_bytes(sumi_format_of(SUMI_Q2_0), (uint64_t)1 << 40), ((uint64_t)1 << 34) * 18);
}

static void out_of_range(void **state)
{
    (void)state;
    const sumi_dtype past = SUMI_N_DTYPES;
    assert_null(sumi_format_of(past));
    assert_string_equal(sumi_dtype_name(past), "?");
    assert_int_equal(sumi_dtype_block_weights(past), 0);
    assert_int_equal(sumi_dtype_block_bytes(past), 0);
    assert_null(sumi_format_of_gguf(UINT32_MAX));
    assert_null(sumi_gguf_type_name(UINT32_MAX));
    assert_null(sumi_gguf_type_name(43));
}

static void names_of_other_types(void **state)
{
    (void)state;
    static const struct {
        uint32_t id;
        const char *name;
    } want[] = { { 23, "IQ4_XS" }, { 29, "IQ1_M" }, { 9, "Q8_1" },   { 15, "Q8_K" },     { 24, "I8" },
                 { 28, "F64" },    { 39, "MXFP4" }, { 40, "NVFP4" }, { 31, "Q4_0_4_4" }, { 4, "Q4_2" } };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        assert_string_equal(sumi_gguf_type_name(want[i].id), want[i].name);
        assert_null(sumi_format_of_gguf(want[i].id));
    }
    for (uint32_t id = 0; id <= 42; id++) assert_non_null(sumi_gguf_type_name(id));
    assert_string_equal(sumi_gguf_type_name(42), "Q2_0");
    assert_string_equal(sumi_gguf_type_name(142), "Q2_0_G128");
}

/* ---- Encoders: exact sets ----------------------------------------------------------------------------------- */

/* decode(encode(x)) == x for blocks of random code bytes and the scale d. */
static void check_exact(sumi_dtype type, size_t scale_at, float d, uint32_t *random)
{
    const sumi_format *f = sumi_format_of(type);
    uint8_t block[MAX_BYTES], again[MAX_BYTES];
    float first[MAX_WEIGHTS], second[MAX_WEIGHTS];
    for (int i = 0; i < f->block_bytes; i++) block[i] = (uint8_t)(next_random(random) >> 11);
    put_half(block + scale_at, d);
    f->to_float(first, block, f->block_weights);
    f->from_float(again, first, f->block_weights);
    f->to_float(second, again, f->block_weights);
    expect_bits(f->name, second, first, f->block_weights);
}

static void exact_sets_survive(void **state)
{
    (void)state;
    static const struct {
        sumi_dtype type;
        size_t scale_at;
    } cases[] = { { SUMI_Q1_0, 0 },   { SUMI_Q2_0, 0 },  { SUMI_Q2_0_G128, 0 }, { SUMI_Q2_0_G128_TAIL, 32 },
                  { SUMI_TQ1_0, 52 }, { SUMI_TQ2_0, 64 } };
    static const float scales[] = { 1, -1, 0.017f, -0.3f, 0x1p-24f, 0x1.8p-20f, 60000, -60000, 65504, 0, -0.0f };
    uint32_t random = 2463534242u;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (size_t s = 0; s < sizeof scales / sizeof *scales; s++)
            for (int i = 0; i < 20; i++) {
                /* No writer of the TAIL layout has negative scales. */
                const float d = cases[c].type == SUMI_Q2_0_G128_TAIL ? fabsf(scales[s]) : scales[s];
                check_exact(cases[c].type, cases[c].scale_at, d, &random);
            }
}

/* Blocks in which one code value is all there is. */
static void uniform_blocks_survive(void **state)
{
    (void)state;
    static const sumi_dtype types[] = { SUMI_Q1_0,           SUMI_Q2_0,  SUMI_Q2_0_G128,
                                        SUMI_Q2_0_G128_TAIL, SUMI_TQ1_0, SUMI_TQ2_0 };
    static const float values[] = { 1, -1, 0.5f, 65504, -0x1p-24f, 0.0f, -0.0f };
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
            const sumi_format *f = sumi_format_of(types[t]);
            uint8_t block[MAX_BYTES];
            float x[MAX_WEIGHTS], y[MAX_WEIGHTS];
            for (int j = 0; j < f->block_weights; j++) x[j] = values[v];
            f->from_float(block, x, f->block_weights);
            f->to_float(y, block, f->block_weights);
            expect_bits(f->name, y, x, f->block_weights);
        }
}

/* The sign bits of its scales tell the layout apart in a file, so even weights whose zeros are all -0 get a
 * positive one. */
static void tail_scale_is_never_negative(void **state)
{
    (void)state;
    uint8_t block[34];
    float x[128], y[128];
    for (int j = 0; j < 128; j++) x[j] = j % 3 ? -0.0f : -0.5f;
    sumi_format_of(SUMI_Q2_0_G128_TAIL)->from_float(block, x, 128);
    assert_int_equal(block[33] & 0x80, 0);
    decode(SUMI_Q2_0_G128_TAIL, y, block);
    for (int j = 0; j < 128; j++) assert_true(y[j] == x[j]);
}

static void zero_tail_block_is_canonical(void **state)
{
    (void)state;
    uint8_t block[34];
    const float x[128] = { 0 };
    sumi_format_of(SUMI_Q2_0_G128_TAIL)->from_float(block, x, 128);
    for (int i = 0; i < 32; i++) assert_int_equal(block[i], 0x55);
    assert_int_equal(block[32] | block[33], 0);
}

/* Weights with no exact form take the reference quantiser's scale and codes. */
static void reference_rules(void **state)
{
    (void)state;
    float x[128], y[128];
    uint8_t block[34];
    for (int j = 0; j < 128; j++) x[j] = j % 2 ? -0.25f : 0.75f;
    sumi_format_of(SUMI_Q1_0)->from_float(block, x, 128);
    decode(SUMI_Q1_0, y, block);
    for (int j = 0; j < 128; j++) assert_true(y[j] == (j % 2 ? -0.5f : 0.5f));

    for (int j = 0; j < 64; j++) x[j] = (float)(j - 32) / 32; /* max |w| = 1 at j = 0 */
    sumi_format_of(SUMI_Q2_0)->from_float(block, x, 64);
    decode(SUMI_Q2_0, y, block);
    for (int j = 0; j < 64; j++) assert_true(y[j] == (j <= 16 ? -1.0f : j < 48 ? 0.0f : 1.0f));
}

/* ---- Encoders: error bounds ---------------------------------------------------------------------------------- */

/* Largest |decode(encode(x)) - x| allowed in one block of weights of magnitude at most m, spread at most r:
 * half a step, or the one whole step that a range without a partner loses at its short end (Q4_0, Q5_0), plus
 * what rounding a scale to fp16 (2^-11 relative; minima likewise) moves the farthest value. */
static float error_bound(sumi_dtype type, float m, float r)
{
    const float fp16 = 0x1p-11f;
    switch (type) {
    case SUMI_F32:
        return 0;
    case SUMI_F16:
        return fmaxf(m * fp16, 0x1p-25f); /* half a subnormal step */
    case SUMI_BF16:
        return m * 0x1p-8f;
    case SUMI_Q8_0:
        return m / 127 * 0.5f + m * fp16;
    case SUMI_Q4_0:
        return m / 8 + m * fp16;
    case SUMI_Q5_0:
        return m / 16 + m * fp16;
    case SUMI_Q4_1:
        return r / 15 * 0.5f + (r + 2 * m) * fp16;
    case SUMI_Q5_1:
        return r / 31 * 0.5f + (r + 2 * m) * fp16;
    case SUMI_Q2_0:
    case SUMI_Q2_0_G128:
    case SUMI_Q2_0_G128_TAIL:
    case SUMI_TQ1_0:
    case SUMI_TQ2_0:
        return m * 0.5f + m * fp16;
    case SUMI_Q1_0:
        return m + m * fp16; /* from a weight near 0 to +-mean, from the largest to the mean */
    default:
        fail_msg("%s: no bound", sumi_dtype_name(type));
        return 0;
    }
}

static void check_error(const sumi_format *f, uint32_t *random)
{
    enum { N = 256 };
    float x[N], y[N];
    uint8_t bytes[N * sizeof(float)];
    for (int j = 0; j < N; j++) x[j] = random_weight(random) * 0.2f;
    f->from_float(bytes, x, N);
    f->to_float(y, bytes, N);
    for (int start = 0; start < N; start += f->block_weights) {
        float min = x[start], max = x[start];
        for (int j = start; j < start + f->block_weights; j++) {
            min = fminf(min, x[j]);
            max = fmaxf(max, x[j]);
        }
        /* 2^-22: float32 roundings in the encoder at magnitude 0.2, far below every step above */
        const float bound = error_bound(f->type, fmaxf(-min, max), max - min) * (1 + 0x1p-22f);
        for (int j = start; j < start + f->block_weights; j++)
            if (!(fabsf(y[j] - x[j]) <= bound))
                fail_msg("%s: weight %d: %.9g became %.9g, bound %.9g", f->name, j, (double)x[j], (double)y[j],
                         (double)bound);
    }
}

static void errors_within_bounds(void **state)
{
    (void)state;
    uint32_t random = 88172645u;
    int n_encoders = 0;
    for (int i = 0; i < SUMI_N_DTYPES; i++) {
        const sumi_format *f = sumi_format_of((sumi_dtype)i);
        if (!f->from_float) continue;
        n_encoders++;
        for (int round = 0; round < 50; round++) check_error(f, &random);
    }
    assert_int_equal(n_encoders, SUMI_N_DTYPES - 5); /* all but the K formats */
}

/* A vanished, saturated or poisoned input gives a block, and one that decodes to finite numbers. */
static void hostile_inputs(void **state)
{
    (void)state;
    static const uint32_t poison[] = { 0x7fc00000, 0xffc00001, 0x7f800000, 0xff800000, 0x7f7fffff, 0xff7fffff,
                                       0x00000001, 0x80000001, 0x00800000, 0x33000000, 0x7fa00000, 0x00000000 };
    enum { N = 256, KINDS = sizeof poison / sizeof *poison };
    for (int i = SUMI_Q1_0; i < SUMI_N_DTYPES; i++) {
        const sumi_format *f = sumi_format_of((sumi_dtype)i);
        if (!f->from_float) continue;
        for (int kind = 0; kind <= KINDS; kind++) { /* one kind throughout, then all mixed */
            float x[N], y[N];
            uint8_t bytes[N * 2];
            for (int j = 0; j < N; j++) x[j] = sumi_bits_float(poison[kind < KINDS ? kind : j % KINDS]);
            f->from_float(bytes, x, N);
            f->to_float(y, bytes, N);
            for (int j = 0; j < N; j++)
                if (!isfinite(y[j])) fail_msg("%s: kind %d: weight %d is not finite", f->name, kind, j);
        }
    }
}

static void plain_formats_keep_nan_and_inf(void **state)
{
    (void)state;
    static const sumi_dtype types[] = { SUMI_F32, SUMI_F16, SUMI_BF16 };
    const float x[4] = { NAN, INFINITY, -INFINITY, -0.0f };
    for (int t = 0; t < 3; t++) {
        uint8_t bytes[16];
        float y[4];
        sumi_format_of(types[t])->from_float(bytes, x, 4);
        sumi_format_of(types[t])->to_float(y, bytes, 4);
        assert_true(isnan(y[0]));
        expect_bits(sumi_dtype_name(types[t]), y + 1, x + 1, 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_values),
        cmocka_unit_test(q1_0_bit_order),
        cmocka_unit_test(q2_0_codes),
        cmocka_unit_test(q2_0_code_three),
        cmocka_unit_test(consecutive_blocks),
        cmocka_unit_test(subnormal_scales),
        cmocka_unit_test(strided_orders),
        cmocka_unit_test(sizes),
        cmocka_unit_test(out_of_range),
        cmocka_unit_test(names_of_other_types),
        cmocka_unit_test(exact_sets_survive),
        cmocka_unit_test(uniform_blocks_survive),
        cmocka_unit_test(tail_scale_is_never_negative),
        cmocka_unit_test(zero_tail_block_is_canonical),
        cmocka_unit_test(reference_rules),
        cmocka_unit_test(errors_within_bounds),
        cmocka_unit_test(hostile_inputs),
        cmocka_unit_test(plain_formats_keep_nan_and_inf),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
