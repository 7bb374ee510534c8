/* Ops through the encoder: against formulas in double, and bit for bit across threads, instruction sets and
 * batch sizes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "quant/quant.h"
#include "sumi_kernels.h"

static uint64_t random_state;

static float random_float(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (float)(random_state >> 40) * 0x1p-23f - 1.0f;
}

static sumi_device *open_device(int32_t n_threads, const char *isa)
{
    sumi_device *device;
    sumi_error err;
    const sumi_device_options options = { .n_threads = n_threads, .isa = isa };
    if (sumi_device_open(&device, "cpu", &options, &err)) fail_msg("%s", err.message);
    return device;
}

static sumi_buffer *buffer_of(sumi_device *device, const void *data, size_t n_bytes)
{
    sumi_buffer *b;
    assert_int_equal(sumi_buffer_new(&b, device, n_bytes, NULL), SUMI_OK);
    if (data) assert_int_equal(sumi_buffer_write(b, 0, data, n_bytes, NULL), SUMI_OK);
    return b;
}

static float *random_floats(size_t n)
{
    float *x = malloc(n * sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < n; i++) x[i] = random_float();
    return x;
}

static void submit_and_wait(sumi_encoder *e)
{
    sumi_error err;
    if (sumi_submit(e, &err) || sumi_wait(e, &err)) fail_msg("%s", err.message);
    sumi_encoder_reset(e);
}

/* ---- matmul ------------------------------------------------------------------------------------------ */

typedef struct matmul_case {
    sumi_dtype type;
    sumi_mode mode;
    int32_t n_rows, n_cols, n_tokens;
    bool bias, residual;
} matmul_case;

/* Inputs depend on the case alone, whatever the device. */
static void run_matmul(sumi_device *device, const matmul_case *c, int32_t tokens_per_call, float *y_out,
                       double *worst)
{
    random_state = 11;
    const sumi_format *f = sumi_format_of(c->type);
    const size_t n_in = (size_t)c->n_tokens * (size_t)c->n_cols, n_out = (size_t)c->n_tokens * (size_t)c->n_rows;
    float *dense = random_floats((size_t)c->n_rows * (size_t)c->n_cols), *x = random_floats(n_in);
    float *bias = random_floats((size_t)c->n_rows), *residual = random_floats(n_out);
    const size_t w_bytes = (size_t)sumi_format_bytes(f, (uint64_t)c->n_rows * (uint64_t)c->n_cols);
    uint8_t *blocks = malloc(w_bytes);
    assert_non_null(blocks);
    f->from_float(blocks, dense, (int64_t)c->n_rows * c->n_cols);
    f->to_float(dense, blocks, (int64_t)c->n_rows * c->n_cols);

    const int32_t first_rows = c->n_rows / 2; /* two parts, as a fused projection has */
    const size_t split = (size_t)sumi_format_bytes(f, (uint64_t)first_rows * (uint64_t)c->n_cols);
    const sumi_weight_part parts[] = { { blocks, first_rows }, { blocks + split, c->n_rows - first_rows } };
    sumi_weight *w;
    assert_int_equal(
        sumi_weight_new(&w, device, c->type, c->n_cols, first_rows ? parts : parts + 1, first_rows ? 2 : 1, NULL),
        SUMI_OK);
    assert_int_equal(sumi_weight_n_rows(w), c->n_rows);
    sumi_buffer *bx = buffer_of(device, x, n_in * 4), *by = buffer_of(device, residual, n_out * 4);
    sumi_buffer *bb = buffer_of(device, bias, (size_t)c->n_rows * 4);
    sumi_encoder *e;
    assert_int_equal(sumi_encoder_new(&e, device, NULL), SUMI_OK);
    for (int32_t t = 0; t < c->n_tokens; t += tokens_per_call) {
        const sumi_view y = { by, (size_t)t * (size_t)c->n_rows * 4 };
        const sumi_matmul_args args = { .y = y,
                                        .x = { bx, (size_t)t * (size_t)c->n_cols * 4 },
                                        .residual = c->residual ? y : (sumi_view){ 0 },
                                        .bias = c->bias ? (sumi_view){ bb, 0 } : (sumi_view){ 0 },
                                        .w = w,
                                        .n_tokens =
                                            c->n_tokens - t < tokens_per_call ? c->n_tokens - t : tokens_per_call,
                                        .mode = c->mode };
        sumi_op_matmul(e, &args);
    }
    submit_and_wait(e);
    assert_int_equal(sumi_buffer_read(by, 0, y_out, n_out * 4, NULL), SUMI_OK);
    if (worst) {
        double error2 = 0, norm2 = 0;
        for (int32_t t = 0; t < c->n_tokens; t++) {
            for (int32_t r = 0; r < c->n_rows; r++) {
                double sum =
                    (c->bias ? (double)bias[r] : 0) + (c->residual ? (double)residual[t * c->n_rows + r] : 0);
                for (int32_t k = 0; k < c->n_cols; k++)
                    sum += (double)dense[r * c->n_cols + k] * (double)x[t * c->n_cols + k];
                const double error = (double)y_out[t * c->n_rows + r] - sum;
                error2 += error * error;
                norm2 += sum * sum;
            }
        }
        *worst = sqrt(error2 / norm2);
    }
    sumi_encoder_free(e);
    sumi_buffer_free(bx);
    sumi_buffer_free(by);
    sumi_buffer_free(bb);
    sumi_weight_free(w);
    free(blocks);
    free(dense);
    free(x);
    free(bias);
    free(residual);
}

static const matmul_case matmul_cases[] = {
    { SUMI_Q1_0, SUMI_EXACT, 33, 256, 5, false, false },
    { SUMI_Q1_0, SUMI_FAST, 33, 256, 5, true, true },
    { SUMI_Q1_0, SUMI_FAST, 1, 128, 1, false, false },
    { SUMI_Q1_0, SUMI_FAST, 67, 640, 70, false, true },
    { SUMI_Q2_0, SUMI_EXACT, 19, 192, 3, true, false },
    { SUMI_Q2_0, SUMI_FAST, 19, 192, 3, false, true },
    { SUMI_Q2_0_G128, SUMI_FAST, 50, 384, 9, false, false },
    { SUMI_Q2_0_G128_TAIL, SUMI_FAST, 50, 384, 9, false, false },
    { SUMI_F16, SUMI_FAST, 17, 100, 4, true, true },
    { SUMI_F32, SUMI_EXACT, 17, 37, 2, false, false },
    { SUMI_BF16, SUMI_EXACT, 5, 64, 66, false, false },
    { SUMI_Q8_0, SUMI_FAST, 23, 96, 3, false, false },
    { SUMI_Q4_0, SUMI_EXACT, 23, 96, 3, false, false },
};
enum { N_MATMUL_CASES = sizeof matmul_cases / sizeof matmul_cases[0] };

static void matmul_equals_formula(void **state)
{
    (void)state;
    sumi_device *device = open_device(2, NULL);
    for (int i = 0; i < N_MATMUL_CASES; i++) {
        const matmul_case *c = &matmul_cases[i];
        float *y = malloc((size_t)c->n_tokens * (size_t)c->n_rows * sizeof *y);
        double worst;
        run_matmul(device, c, c->n_tokens, y, &worst);
        const double bound = c->mode == SUMI_EXACT ? 1e-6 : 1.5e-2; /* int8: half a step of max|x|/127 a value */
        if (!(worst <= bound)) fail_msg("case %d (%s): relative error %g", i, sumi_dtype_name(c->type), worst);
        free(y);
    }
    sumi_device_free(device);
}

static void matmul_bits_depend_on_nothing_else(void **state)
{
    (void)state;
    static const struct {
        int32_t n_threads;
        const char *isa;
        int32_t tokens_per_call;
    } ways[] = { { 1, "scalar", 1000 }, { 3, "scalar", 1 }, { 1, NULL, 1 },
                 { 2, NULL, 1000 },     { 5, NULL, 3 },     { 2, "avx2", 2 } };
    for (int i = 0; i < N_MATMUL_CASES; i++) {
        const matmul_case *c = &matmul_cases[i];
        const size_t n_bytes = (size_t)c->n_tokens * (size_t)c->n_rows * sizeof(float);
        float *first = malloc(n_bytes), *y = malloc(n_bytes);
        for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
            sumi_device *device;
            const sumi_device_options options = { .n_threads = ways[w].n_threads, .isa = ways[w].isa };
            if (sumi_device_open(&device, "cpu", &options, NULL)) continue; /* this CPU lacks the instruction set */
            run_matmul(device, c, ways[w].tokens_per_call, w ? y : first, NULL);
            if (w && memcmp(first, y, n_bytes) != 0) fail_msg("case %d, way %d: other bits", i, (int)w);
            sumi_device_free(device);
        }
        free(first);
        free(y);
    }
}

/* ---- attention --------------------------------------------------------------------------------------- */

enum { HEADS = 6, KV_HEADS = 2, MAX_SEQS = 3, MAX_BLOCKS = 4, POOL_BLOCKS = 16 };

typedef struct attention_case {
    int32_t head_dim, window, n_seqs;
    sumi_kv_type kv_type;
    int32_t new_tokens[MAX_SEQS], context[MAX_SEQS]; /* of each sequence */
} attention_case;

static const attention_case attention_cases[] = {
    { 64, 0, 1, SUMI_KV_F32, { 1 }, { 1 } },
    { 128, 0, 1, SUMI_KV_F32, { 33 }, { 33 } },
    { 40, 0, 3, SUMI_KV_F32, { 1, 17, 5 }, { 100, 17, 69 } },
    { 8, 7, 2, SUMI_KV_F32, { 12, 1 }, { 77, 128 } },
    { 256, 32, 1, SUMI_KV_F32, { 40 }, { 90 } },
    { 64, 1, 1, SUMI_KV_F32, { 3 }, { 35 } },
    { 64, 0, 3, SUMI_KV_F16, { 1, 17, 5 }, { 100, 17, 69 } },
};
enum { N_ATTENTION_CASES = sizeof attention_cases / sizeof attention_cases[0] };

/* Token i of sequence s is in block perm[s][i / 32]: pages in no order. */
static uint32_t block_of(int32_t s, int32_t i) { return (uint32_t)((s * MAX_BLOCKS + i) * 5 % POOL_BLOCKS); }

static size_t kv_at(const attention_case *c, int32_t s, int32_t position, int32_t kv_head)
{
    return (((size_t)block_of(s, position / 32) * KV_HEADS + (size_t)kv_head) * 32 + (size_t)(position % 32)) *
           (size_t)c->head_dim;
}

static void attention_reference(const attention_case *c, int32_t s, int32_t end, int32_t h, const float *q,
                                const float *k, const float *v, double *out)
{
    const int32_t start = c->window && end > c->window ? end - c->window : 0, g = h / (HEADS / KV_HEADS);
    double score[MAX_BLOCKS * 32], max = -INFINITY, total = 0;
    for (int32_t j = start; j < end; j++) {
        score[j] = 0;
        for (int32_t d = 0; d < c->head_dim; d++) score[j] += (double)q[d] * (double)k[kv_at(c, s, j, g) + (size_t)d];
        score[j] *= 0.3;
        if (score[j] > max) max = score[j];
    }
    for (int32_t d = 0; d < c->head_dim; d++) out[d] = 0;
    for (int32_t j = start; j < end; j++) {
        const double p = exp(score[j] - max);
        total += p;
        for (int32_t d = 0; d < c->head_dim; d++) out[d] += p * (double)v[kv_at(c, s, j, g) + (size_t)d];
    }
    for (int32_t d = 0; d < c->head_dim; d++) out[d] /= total;
}

static void fill_pool(sumi_buffer *pool, float *values, size_t n, sumi_kv_type type)
{
    const sumi_format *f16 = sumi_format_of(SUMI_F16);
    if (type == SUMI_KV_F32) {
        assert_int_equal(sumi_buffer_write(pool, 0, values, n * 4, NULL), SUMI_OK);
        return;
    }
    uint16_t *halves = malloc(n * 2);
    f16->from_float(halves, values, (int64_t)n);
    f16->to_float(values, halves, (int64_t)n); /* the reference reads what the cache holds */
    assert_int_equal(sumi_buffer_write(pool, 0, halves, n * 2, NULL), SUMI_OK);
    free(halves);
}

static void check_attention(sumi_device *device, const attention_case *c)
{
    random_state = 5;
    const size_t pool_n = (size_t)POOL_BLOCKS * KV_HEADS * 32 * (size_t)c->head_dim;
    const size_t item = c->kv_type == SUMI_KV_F16 ? 2 : 4;
    float *k = random_floats(pool_n), *v = random_floats(pool_n);
    sumi_buffer *bk = buffer_of(device, NULL, pool_n * item), *bv = buffer_of(device, NULL, pool_n * item);
    fill_pool(bk, k, pool_n, c->kv_type);
    fill_pool(bv, v, pool_n, c->kv_type);
    uint32_t first_row[MAX_SEQS + 1] = { 0 }, context[MAX_SEQS], table[MAX_SEQS][MAX_BLOCKS];
    for (int32_t s = 0; s < c->n_seqs; s++) {
        first_row[s + 1] = first_row[s] + (uint32_t)c->new_tokens[s];
        context[s] = (uint32_t)c->context[s];
        for (int32_t i = 0; i < MAX_BLOCKS; i++) /* entries past the context must not be read */
            table[s][i] = i * 32 < c->context[s] ? block_of(s, i) : UINT32_MAX;
    }
    const int32_t n_tokens = (int32_t)first_row[c->n_seqs];
    const size_t n = (size_t)n_tokens * HEADS * (size_t)c->head_dim;
    float *q = random_floats(n), *out = malloc(n * sizeof *out);
    sumi_buffer *bq = buffer_of(device, q, n * 4), *bo = buffer_of(device, NULL, n * 4);
    sumi_buffer *rows = buffer_of(device, first_row, sizeof first_row),
                *lens = buffer_of(device, context, sizeof context);
    sumi_buffer *tables = buffer_of(device, table, sizeof table);
    sumi_encoder *e;
    assert_int_equal(sumi_encoder_new(&e, device, NULL), SUMI_OK);
    sumi_op_attention(e, &(sumi_attention_args){ .out = { bo, 0 },
                                                 .q = { bq, 0 },
                                                 .k_pool = { bk, 0 },
                                                 .v_pool = { bv, 0 },
                                                 .first_row = { rows, 0 },
                                                 .block_tables = { tables, 0 },
                                                 .context_lens = { lens, 0 },
                                                 .n_tokens = n_tokens,
                                                 .n_seqs = c->n_seqs,
                                                 .max_blocks = MAX_BLOCKS,
                                                 .n_blocks = POOL_BLOCKS,
                                                 .n_heads = HEADS,
                                                 .n_kv_heads = KV_HEADS,
                                                 .head_dim = c->head_dim,
                                                 .window = c->window,
                                                 .scale = 0.3f,
                                                 .kv_type = c->kv_type });
    submit_and_wait(e);
    assert_int_equal(sumi_buffer_read(bo, 0, out, n * 4, NULL), SUMI_OK);
    for (int32_t s = 0; s < c->n_seqs; s++) {
        for (int32_t i = 0; i < c->new_tokens[s]; i++) {
            for (int32_t h = 0; h < HEADS; h++) {
                double expected[256];
                const size_t at = (((size_t)first_row[s] + (size_t)i) * HEADS + (size_t)h) * (size_t)c->head_dim;
                attention_reference(c, s, c->context[s] - (c->new_tokens[s] - 1 - i), h, q + at, k, v, expected);
                for (int32_t d = 0; d < c->head_dim; d++)
                    if (!(fabs((double)out[at + (size_t)d] - expected[d]) <= 3e-6))
                        fail_msg("head_dim %d, sequence %d, row %d, head %d, %d: %g, formula %g", (int)c->head_dim,
                                 (int)s, (int)i, (int)h, (int)d, (double)out[at + (size_t)d], expected[d]);
            }
        }
    }
    sumi_buffer *all[] = { bk, bv, bq, bo, rows, lens, tables };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) sumi_buffer_free(all[i]);
    sumi_encoder_free(e);
    free(k);
    free(v);
    free(q);
    free(out);
}

static void attention_equals_formula(void **state)
{
    (void)state;
    static const char *const sets[] = { "scalar", NULL };
    for (int i = 0; i < 2; i++) {
        sumi_device *device = open_device(i + 1, sets[i]);
        for (int c = 0; c < N_ATTENTION_CASES; c++) check_attention(device, &attention_cases[c]);
        sumi_device_free(device);
    }
}

/* ---- rotation and cache ------------------------------------------------------------------------------ */

static void rotation_keeps_norms_and_position_zero(void **state)
{
    (void)state;
    enum { HD = 16, ROT = 8, POSITIONS = 50, BLOCKS = 2, ROW = (2 + 2 * 1) * HD };
    sumi_device *device = open_device(2, NULL);
    float cosines[POSITIONS][ROT / 2], sines[POSITIONS][ROT / 2];
    for (int p = 0; p < POSITIONS; p++)
        for (int i = 0; i < ROT / 2; i++)
            cosines[p][i] = cosf((float)(p * (i + 1))), sines[p][i] = sinf((float)(p * (i + 1)));
    random_state = 3;
    float *qkv = random_floats(2 * ROW);
    const uint32_t positions[] = { 0, 37 }, slots[] = { 33, 5 };
    sumi_buffer *bqkv = buffer_of(device, qkv, 2 * ROW * 4), *bq = buffer_of(device, NULL, 2 * 2 * HD * 4);
    sumi_buffer *bk = buffer_of(device, NULL, BLOCKS * 32 * HD * 4),
                *bv = buffer_of(device, NULL, BLOCKS * 32 * HD * 4);
    sumi_buffer *bp = buffer_of(device, positions, sizeof positions), *bs = buffer_of(device, slots, sizeof slots);
    sumi_buffer *bc = buffer_of(device, cosines, sizeof cosines), *bsin = buffer_of(device, sines, sizeof sines);
    sumi_encoder *e;
    assert_int_equal(sumi_encoder_new(&e, device, NULL), SUMI_OK);
    for (int style = SUMI_ROPE_HALF_SPLIT; style <= SUMI_ROPE_INTERLEAVED; style++) {
        sumi_op_qkv_rope_cache(e, &(sumi_qkv_rope_cache_args){ .q = { bq, 0 },
                                                               .qkv = { bqkv, 0 },
                                                               .k_pool = { bk, 0 },
                                                               .v_pool = { bv, 0 },
                                                               .slots = { bs, 0 },
                                                               .positions = { bp, 0 },
                                                               .cos = { bc, 0 },
                                                               .sin = { bsin, 0 },
                                                               .n_tokens = 2,
                                                               .n_heads = 2,
                                                               .n_kv_heads = 1,
                                                               .head_dim = HD,
                                                               .n_rot = ROT,
                                                               .n_positions = POSITIONS,
                                                               .n_blocks = BLOCKS,
                                                               .rope = (sumi_rope_style)style,
                                                               .kv_type = SUMI_KV_F32 });
        submit_and_wait(e);
        float q[2][2][HD], k[HD], v[HD];
        assert_int_equal(sumi_buffer_read(bq, 0, q, sizeof q, NULL), SUMI_OK);
        assert_memory_equal(q[0], qkv, sizeof q[0]); /* position 0 is the identity */
        const int pair = style == SUMI_ROPE_HALF_SPLIT ? ROT / 2 : 1, step = style == SUMI_ROPE_HALF_SPLIT ? 1 : 2;
        for (int h = 0; h < 2; h++) {
            const float *before = qkv + ROW + h * HD;
            for (int i = 0; i < ROT / 2; i++) {
                const double a = (double)before[i * step], b = (double)before[i * step + pair],
                             angle = 37.0 * (i + 1);
                assert_true(fabs(q[1][h][i * step] - (a * cos(angle) - b * sin(angle))) < 1e-5);
                assert_true(fabs(q[1][h][i * step + pair] - (b * cos(angle) + a * sin(angle))) < 1e-5);
            }
            assert_memory_equal(&q[1][h][ROT], before + ROT, (HD - ROT) * sizeof(float)); /* the rest is copied */
        }
        /* slot 33 is position 1 of block 1 and holds token 0, unrotated; slot 5 holds token 1's value */
        assert_int_equal(sumi_buffer_read(bk, 33 * HD * 4, k, sizeof k, NULL), SUMI_OK);
        assert_memory_equal(k, qkv + 2 * HD, sizeof k);
        assert_int_equal(sumi_buffer_read(bv, 5 * HD * 4, v, sizeof v, NULL), SUMI_OK);
        assert_memory_equal(v, qkv + ROW + 3 * HD, sizeof v);
    }
    sumi_buffer *all[] = { bqkv, bq, bk, bv, bp, bs, bc, bsin };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) sumi_buffer_free(all[i]);
    sumi_encoder_free(e);
    sumi_device_free(device);
    free(qkv);
}

/* ---- encoder ----------------------------------------------------------------------------------------- */

static void nothing_runs_before_submit(void **state)
{
    (void)state;
    sumi_device *device = open_device(2, NULL);
    const float x[4] = { 1, 7, NAN, 7 };
    const uint32_t poison = 99;
    sumi_buffer *bx = buffer_of(device, x, sizeof x), *bi = buffer_of(device, &poison, sizeof poison);
    sumi_encoder *e;
    assert_int_equal(sumi_encoder_new(&e, device, NULL), SUMI_OK);
    assert_int_equal(
        sumi_op_argmax(e, &(sumi_argmax_args){ .ids = { bi, 0 }, .x = { bx, 0 }, .n_rows = 1, .n_cols = 4 }),
        SUMI_OK);
    uint32_t id;
    assert_int_equal(sumi_buffer_read(bi, 0, &id, sizeof id, NULL), SUMI_OK);
    assert_int_equal(id, 99);
    submit_and_wait(e);
    assert_int_equal(sumi_buffer_read(bi, 0, &id, sizeof id, NULL), SUMI_OK);
    assert_int_equal(id, 1); /* the lower of two equal ones; NaN skipped */
    sumi_error err;
    assert_int_equal(sumi_wait(e, &err), SUMI_EINVAL); /* nothing was submitted */
    sumi_encoder_free(e);
    sumi_buffer_free(bx);
    sumi_buffer_free(bi);
    sumi_device_free(device);
}

static void first_error_is_kept_with_its_numbers(void **state)
{
    (void)state;
    sumi_device *device = open_device(1, NULL);
    sumi_buffer *b = buffer_of(device, NULL, 64);
    sumi_encoder *e;
    assert_int_equal(sumi_encoder_new(&e, device, NULL), SUMI_OK);
    const sumi_rmsnorm_args too_big = {
        .y = { b, 0 }, .x = { b, 0 }, .w = { b, 0 }, .n_rows = 5, .n_cols = 4, .eps = 1e-6f
    };
    assert_int_equal(sumi_op_rmsnorm(e, &too_big), SUMI_EINVAL);
    assert_int_equal(sumi_op_rmsnorm(e, NULL), SUMI_EINVAL);
    sumi_error err = { 0 };
    assert_int_equal(sumi_submit(e, &err), SUMI_EINVAL);
    assert_non_null(strstr(err.message, "rmsnorm: x: 20 items"));
    assert_non_null(strstr(err.message, "64 bytes"));
    sumi_encoder_reset(e);
    assert_int_equal(sumi_submit(e, &err), SUMI_OK); /* an empty pass is fine */
    assert_int_equal(sumi_wait(e, &err), SUMI_OK);
    const sumi_rmsnorm_args bad[] = {
        { .y = { b, 0 }, .x = { b, 0 }, .w = { b, 0 }, .n_rows = 0, .n_cols = 4 },
        { .y = { b, 0 }, .x = { b, 0 }, .w = { b, 0 }, .n_rows = 1, .n_cols = -1 },
        { .y = { b, 2 }, .x = { b, 0 }, .w = { b, 0 }, .n_rows = 1, .n_cols = 4 },
        { .y = { b, SIZE_MAX - 3 }, .x = { b, 0 }, .w = { b, 0 }, .n_rows = 1, .n_cols = 4 },
        { .y = { b, 0 }, .x = { NULL, 0 }, .w = { b, 0 }, .n_rows = 1, .n_cols = 4 },
        { .y = { b, 0 }, .x = { b, 0 }, .w = { b, 0 }, .n_rows = INT32_MAX, .n_cols = INT32_MAX },
        { .y = { b, 0 }, .x = { b, 0 }, .w = { b, 0 }, .n_rows = 1, .n_cols = 4, .eps = NAN },
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(sumi_op_rmsnorm(e, &bad[i]), SUMI_EINVAL);
        sumi_encoder_reset(e);
    }
    sumi_encoder_free(e);
    sumi_buffer_free(b);
    sumi_device_free(device);
}

/* Dimensions whose products wrap to something small in 64 bits. */
static void products_that_wrap_are_refused(void **state)
{
    (void)state;
    sumi_device *device = open_device(1, NULL);
    sumi_buffer *b = buffer_of(device, NULL, 4096);
    const sumi_view v = { b, 0 };
    sumi_encoder *e;
    assert_int_equal(sumi_encoder_new(&e, device, NULL), SUMI_OK);
    const int32_t big = 1 << 28;
    assert_int_equal(sumi_op_attention(e, &(sumi_attention_args){ .out = v,
                                                                  .q = v,
                                                                  .k_pool = v,
                                                                  .v_pool = v,
                                                                  .first_row = v,
                                                                  .block_tables = v,
                                                                  .context_lens = v,
                                                                  .n_tokens = big,
                                                                  .n_seqs = 1,
                                                                  .max_blocks = 1,
                                                                  .n_blocks = big,
                                                                  .n_heads = big,
                                                                  .n_kv_heads = big,
                                                                  .head_dim = 256,
                                                                  .scale = 1 }),
                     SUMI_EINVAL);
    sumi_encoder_reset(e);
    assert_int_equal(sumi_op_qkv_rope_cache(e, &(sumi_qkv_rope_cache_args){ .q = v,
                                                                            .qkv = v,
                                                                            .k_pool = v,
                                                                            .v_pool = v,
                                                                            .slots = v,
                                                                            .n_tokens = big,
                                                                            .n_heads = big,
                                                                            .n_kv_heads = big,
                                                                            .head_dim = 256,
                                                                            .n_blocks = big }),
                     SUMI_EINVAL);
    sumi_encoder_reset(e);
    assert_int_equal(sumi_op_qkv_rope_cache(e, &(sumi_qkv_rope_cache_args){ .q = v,
                                                                            .qkv = v,
                                                                            .k_pool = v,
                                                                            .v_pool = v,
                                                                            .slots = v,
                                                                            .n_tokens = 1,
                                                                            .n_heads = INT32_MAX,
                                                                            .n_kv_heads = INT32_MAX,
                                                                            .head_dim = 2,
                                                                            .n_blocks = 1 }),
                     SUMI_EINVAL);
    sumi_encoder_free(e);
    sumi_buffer_free(b);
    sumi_device_free(device);
}

static void id_out_of_range_surfaces_at_wait(void **state)
{
    (void)state;
    for (int32_t n_threads = 1; n_threads <= 4; n_threads++) {
        sumi_device *device = open_device(n_threads, NULL);
        const float table[6] = { 1, 2, 3, 4, 5, 6 };
        const uint32_t ids[4] = { 2, 0, 3, 1 };
        const sumi_weight_part part = { table, 3 };
        sumi_weight *w;
        assert_int_equal(sumi_weight_new(&w, device, SUMI_F32, 2, &part, 1, NULL), SUMI_OK);
        sumi_buffer *bi = buffer_of(device, ids, sizeof ids), *by = buffer_of(device, NULL, 4 * 2 * 4);
        sumi_encoder *e;
        assert_int_equal(sumi_encoder_new(&e, device, NULL), SUMI_OK);
        for (int i = 0; i < 50; i++) /* the rest of the pass must be left by all threads together */
            sumi_op_embed(
                e, &(sumi_embed_args){ .y = { by, 0 }, .ids = { bi, 0 }, .table = w, .n_tokens = i < 3 ? 2 : 4 });
        sumi_error err = { 0 };
        assert_int_equal(sumi_submit(e, &err), SUMI_OK);
        assert_int_equal(sumi_wait(e, &err), SUMI_EINVAL);
        assert_string_equal(err.message, "embed: token 2 has id 3, the table has 3 rows");
        sumi_encoder_reset(e);
        sumi_op_embed(e, &(sumi_embed_args){ .y = { by, 0 }, .ids = { bi, 0 }, .table = w, .n_tokens = 2 });
        submit_and_wait(e);
        float y[4];
        assert_int_equal(sumi_buffer_read(by, 0, y, sizeof y, NULL), SUMI_OK);
        assert_true(y[0] == 5 && y[1] == 6 && y[2] == 1 && y[3] == 2);
        sumi_encoder_free(e);
        sumi_buffer_free(bi);
        sumi_buffer_free(by);
        sumi_weight_free(w);
        sumi_device_free(device);
    }
}

static void bad_devices_buffers_and_weights_are_refused(void **state)
{
    (void)state;
    sumi_device *device;
    sumi_error err = { 0 };
    assert_int_equal(sumi_device_open(&device, "abacus", NULL, &err), SUMI_EINVAL);
    assert_non_null(strstr(err.message, "abacus"));
    const sumi_device_options bad_isa = { .isa = "mmx" }, bad_threads = { .n_threads = -1 };
    assert_int_equal(sumi_device_open(&device, "cpu", &bad_isa, &err), SUMI_EINVAL);
    assert_int_equal(sumi_device_open(&device, "cpu", &bad_threads, &err), SUMI_EINVAL);
    device = open_device(1, NULL);
    sumi_buffer *b;
    assert_int_equal(sumi_buffer_new(&b, device, 0, &err), SUMI_EINVAL);
    assert_int_equal(sumi_buffer_new(&b, device, SIZE_MAX, &err), SUMI_ENOMEM);
    assert_int_equal(sumi_buffer_new(&b, device, SIZE_MAX / 4, &err), SUMI_ENOMEM);
    b = buffer_of(device, NULL, 8);
    char bytes[16];
    assert_int_equal(sumi_buffer_read(b, 4, bytes, 5, &err), SUMI_EINVAL);
    assert_int_equal(sumi_buffer_write(b, SIZE_MAX, bytes, 2, &err), SUMI_EINVAL);
    sumi_weight *w;
    const sumi_weight_part part = { bytes, 1 }, empty = { NULL, 1 }, none = { bytes, 0 };
    assert_int_equal(sumi_weight_new(&w, device, SUMI_Q1_0, 100, &part, 1, &err), SUMI_EINVAL);
    assert_non_null(strstr(err.message, "100"));
    assert_int_equal(sumi_weight_new(&w, device, SUMI_F32, 1, &empty, 1, &err), SUMI_EINVAL);
    assert_int_equal(sumi_weight_new(&w, device, SUMI_F32, 1, &none, 1, &err), SUMI_EINVAL);
    assert_int_equal(sumi_weight_new(&w, device, (sumi_dtype)99, 1, &part, 1, &err), SUMI_EINVAL);
    sumi_buffer_free(b);
    sumi_device_free(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_runs_before_submit),
        cmocka_unit_test(first_error_is_kept_with_its_numbers),
        cmocka_unit_test(products_that_wrap_are_refused),
        cmocka_unit_test(id_out_of_range_surfaces_at_wait),
        cmocka_unit_test(bad_devices_buffers_and_weights_are_refused),
        cmocka_unit_test(matmul_equals_formula),
        cmocka_unit_test(matmul_bits_depend_on_nothing_else),
        cmocka_unit_test(attention_equals_formula),
        cmocka_unit_test(rotation_keeps_norms_and_position_zero),
    };
    return cmocka_run_group_tests_name("ops", tests, NULL, NULL);
}
