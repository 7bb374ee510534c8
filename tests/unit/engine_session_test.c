/* Sessions: the same bits however a text is cut into calls and whatever device parameters it runs with; failures
 * leave a session as it was. */
#include "engine_fixture.h"

#include "alloc_meter.h"

enum { MAX_N = 300 }; /* past one chunk of 256 tokens and several cache blocks of 32 */

/* ---- However a text is cut ------------------------------------------------------------------------------ */

/* All logits of n tokens evaluated one by one, and the cache they leave. */
typedef struct decoded {
    int32_t tokens[MAX_N], n;
    float *logits, *cache;
    size_t n_cache_part;
} decoded;

static void decode(decoded *d, const engine *e, sumi_session *s, int32_t n)
{
    const size_t vocab = (size_t)e->vocab;
    fill_tokens(d->tokens, n, e->vocab, 5);
    d->n = n;
    d->logits = new_array((size_t)n * vocab, sizeof(float));
    for (int32_t i = 0; i < n; i++) {
        eval(s, d->tokens + i, 1, SUMI_LOGITS_LAST);
        memcpy(d->logits + (size_t)i * vocab, sumi_session_logits(s, 0), vocab * sizeof(float));
    }
    d->cache = read_cache(e, s, &d->n_cache_part);
}

static void decoded_free(decoded *d)
{
    free(d->logits);
    free(d->cache);
}

/* The session's cache is the beginning of the decoded one. */
static void assert_cache_prefix(const engine *e, const sumi_session *s, const decoded *d)
{
    sumi_model_info info;
    sumi_model_get_info(e->model, &info);
    size_t n_part;
    float *cache = read_cache(e, s, &n_part);
    for (size_t part = 0; part < 2 * (size_t)info.n_layers; part++)
        assert_same_floats(cache + part * n_part, d->cache + part * d->n_cache_part, n_part, "cache");
    free(cache);
}

static void check_prefill(const char *model, bool exact, const int32_t *lengths, size_t n_lengths)
{
    engine e = engine_open(model);
    const int32_t longest = lengths[n_lengths - 1];
    sumi_session *s = session_open(&e, longest, exact);
    decoded d;
    decode(&d, &e, s, longest);
    for (size_t i = 0; i < n_lengths; i++) {
        const int32_t n = lengths[i];
        sumi_session *prefilled = session_open(&e, longest, exact); /* nothing left over from another length */
        eval(prefilled, d.tokens, n, SUMI_LOGITS_LAST);
        assert_same_floats(sumi_session_logits(prefilled, 0), d.logits + (size_t)(n - 1) * (size_t)e.vocab,
                           (size_t)e.vocab, "last row of a prefill");
        assert_cache_prefix(&e, prefilled, &d);
        sumi_session_free(prefilled);
    }
    decoded_free(&d);
    sumi_session_free(s);
    engine_close(&e);
}

static const int32_t border_lengths[] = { 1, 2, 31, 32, 33, 64, 255, 256, 257, 300 };
static const int32_t few_lengths[] = { 1, 7, 40 };

static void test_prefill_equals_decode_fast(void **state)
{
    (void)state;
    check_prefill(TINY_MODEL, false, border_lengths, sizeof border_lengths / sizeof *border_lengths);
}

static void test_prefill_equals_decode_exact(void **state)
{
    (void)state;
    check_prefill(TINY_MODEL, true, border_lengths, sizeof border_lengths / sizeof *border_lengths);
}

static void test_prefill_equals_decode_demo(void **state)
{
    (void)state;
    check_prefill(DEMO_MODEL, false, few_lengths, sizeof few_lengths / sizeof *few_lengths);
    check_prefill(DEMO_MODEL, true, few_lengths, 2); /* exact is slower */
}

static void check_cuts(bool exact, size_t n_cuts)
{
    static const int32_t cuts[] = { 3, 1, 28, 2, 64, 1, 129, 1, 1, 70 };
    assert_true(n_cuts <= sizeof cuts / sizeof *cuts);
    int32_t n = 0;
    for (size_t i = 0; i < n_cuts; i++) n += cuts[i];
    engine e = engine_open(TINY_MODEL);
    sumi_session *s = session_open(&e, 0, exact);
    decoded d;
    decode(&d, &e, s, n);
    truncate_to(s, 0);
    for (size_t i = 0; i < n_cuts; i++) {
        const int32_t first = sumi_session_n_tokens(s);
        eval(s, d.tokens + first, cuts[i], SUMI_LOGITS_ALL);
        for (int32_t row = 0; row < cuts[i]; row++)
            assert_same_floats(sumi_session_logits(s, row), d.logits + (size_t)(first + row) * (size_t)e.vocab,
                               (size_t)e.vocab, "a row of a piece");
        assert_null(sumi_session_logits(s, cuts[i]));
    }
    assert_int_equal(sumi_session_n_tokens(s), n);
    assert_cache_prefix(&e, s, &d);
    decoded_free(&d);
    sumi_session_free(s);
    engine_close(&e);
}

static void test_any_cut_gives_the_same_rows(void **state)
{
    (void)state;
    check_cuts(false, 10);
    check_cuts(true, 5); /* exact is slower */
}

static void test_all_rows_of_several_chunks(void **state)
{
    (void)state;
    engine e = engine_open(TINY_MODEL);
    sumi_session *s = session_open(&e, 0, false);
    decoded d;
    decode(&d, &e, s, MAX_N);
    truncate_to(s, 0);
    eval(s, d.tokens, MAX_N, SUMI_LOGITS_ALL);
    for (int32_t row = 0; row < MAX_N; row++)
        assert_same_floats(sumi_session_logits(s, row), d.logits + (size_t)row * (size_t)e.vocab, (size_t)e.vocab,
                           "a row of a long call");
    decoded_free(&d);
    sumi_session_free(s);
    engine_close(&e);
}

static void test_verify_chooses_what_single_steps_choose(void **state)
{
    (void)state;
    engine e = engine_open(TINY_MODEL);
    sumi_session *s = session_open(&e, 0, false);
    decoded d;
    decode(&d, &e, s, MAX_N);
    int32_t next[MAX_N + 1];
    static const int32_t starts[] = { 0, 1, 40, MAX_N - 1 };
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        const int32_t n = MAX_N - starts[i];
        truncate_to(s, starts[i]);
        memset(next, 0x55, sizeof next);
        sumi_error err;
        if (sumi_session_verify(s, d.tokens + starts[i], n, next, &err)) fail_msg("%s", err.message);
        for (int32_t row = 0; row < n; row++)
            assert_int_equal(next[row], argmax(d.logits + (size_t)(starts[i] + row) * (size_t)e.vocab, e.vocab));
        assert_int_equal(next[n], 0x55555555);
        assert_int_equal(sumi_session_n_tokens(s), MAX_N);
        assert_memory_equal(sumi_session_tokens(s), d.tokens, MAX_N * sizeof(int32_t));
        assert_cache_prefix(&e, s, &d);
    }
    decoded_free(&d);
    sumi_session_free(s);
    engine_close(&e);
}

/* ---- Truncation, history, rows ------------------------------------------------------------------------------ */

static void test_truncated_session_goes_on_as_a_new_one(void **state)
{
    (void)state;
    engine e = engine_open(TINY_MODEL);
    sumi_session *s = session_open(&e, 0, false), *fresh = session_open(&e, 0, false);
    int32_t first[100], second[100];
    fill_tokens(first, 100, e.vocab, 1);
    fill_tokens(second, 100, e.vocab, 2);
    static const int32_t kept_counts[] = { 99, 64, 33, 32, 31, 1, 0 };
    for (size_t i = 0; i < sizeof kept_counts / sizeof *kept_counts; i++) {
        const int32_t kept = kept_counts[i];
        truncate_to(s, 0);
        eval(s, first, 100, SUMI_LOGITS_NONE);
        truncate_to(s, kept);
        assert_int_equal(sumi_session_n_tokens(s), kept);
        eval(s, second, 70, SUMI_LOGITS_LAST);
        truncate_to(fresh, 0);
        if (kept) eval(fresh, first, kept, SUMI_LOGITS_NONE);
        eval(fresh, second, 70, SUMI_LOGITS_LAST);
        assert_same_floats(sumi_session_logits(s, 0), sumi_session_logits(fresh, 0), (size_t)e.vocab,
                           "after truncation");
        assert_memory_equal(sumi_session_tokens(s), first, (size_t)kept * sizeof *first);
        assert_memory_equal(sumi_session_tokens(s) + kept, second, 70 * sizeof *second);
    }
    sumi_session_free(s);
    sumi_session_free(fresh);
    engine_close(&e);
}

static void test_only_the_rows_asked_for_exist(void **state)
{
    (void)state;
    engine e = engine_open(TINY_MODEL);
    sumi_session *s = session_open(&e, 0, false);
    const int32_t tokens[] = { 5, 6, 7 };
    assert_null(sumi_session_logits(s, 0));
    eval(s, tokens, 3, SUMI_LOGITS_ALL);
    assert_non_null(sumi_session_logits(s, 2));
    assert_null(sumi_session_logits(s, 3));
    assert_null(sumi_session_logits(s, -1));
    eval(s, tokens, 3, SUMI_LOGITS_LAST);
    assert_non_null(sumi_session_logits(s, 0));
    assert_null(sumi_session_logits(s, 1));
    eval(s, tokens, 3, SUMI_LOGITS_NONE);
    assert_null(sumi_session_logits(s, 0));
    sumi_session_free(s);
    engine_close(&e);
}

/* ---- Refusals --------------------------------------------------------------------------------------------- */

static void test_refused_calls_change_nothing(void **state)
{
    (void)state;
    engine e = engine_open(TINY_MODEL);
    sumi_session *s = session_open(&e, 40, false), *other = session_open(&e, 40, false);
    int32_t tokens[40], next[40];
    fill_tokens(tokens, 40, e.vocab, 3);
    eval(s, tokens, 38, SUMI_LOGITS_NONE);
    eval(other, tokens, 38, SUMI_LOGITS_NONE);
    const int32_t too_high[] = { 1, e.vocab }, negative[] = { 1, -1 };
    sumi_error err;

    assert_int_equal(sumi_session_eval(s, tokens, 3, SUMI_LOGITS_LAST, &err), SUMI_ELIMIT);
    assert_non_null(strstr(err.message, "38"));
    assert_non_null(strstr(err.message, "40"));
    assert_int_equal(sumi_session_verify(s, tokens, 3, next, &err), SUMI_ELIMIT);
    assert_int_equal(sumi_session_eval(s, tokens, INT32_MAX, SUMI_LOGITS_LAST, &err), SUMI_ELIMIT);
    assert_int_equal(sumi_session_eval(s, too_high, 2, SUMI_LOGITS_LAST, &err), SUMI_EINVAL);
    assert_non_null(strstr(err.message, "325"));
    assert_int_equal(sumi_session_eval(s, negative, 2, SUMI_LOGITS_LAST, &err), SUMI_EINVAL);
    assert_int_equal(sumi_session_verify(s, negative, 2, next, &err), SUMI_EINVAL);
    assert_int_equal(sumi_session_verify(s, tokens, 1, NULL, &err), SUMI_EINVAL);
    assert_int_equal(sumi_session_eval(s, tokens, 0, SUMI_LOGITS_LAST, &err), SUMI_EINVAL);
    assert_int_equal(sumi_session_eval(s, tokens, -1, SUMI_LOGITS_LAST, &err), SUMI_EINVAL);
    assert_int_equal(sumi_session_eval(s, NULL, 1, SUMI_LOGITS_LAST, NULL), SUMI_EINVAL);
    assert_int_equal(sumi_session_truncate(s, 39, &err), SUMI_EINVAL);
    assert_non_null(strstr(err.message, "39"));
    assert_non_null(strstr(err.message, "38"));
    assert_int_equal(sumi_session_truncate(s, -1, &err), SUMI_EINVAL);

    assert_int_equal(sumi_session_n_tokens(s), 38);
    assert_memory_equal(sumi_session_tokens(s), tokens, 38 * sizeof *tokens);
    eval(s, tokens + 38, 2, SUMI_LOGITS_LAST); /* to the last place */
    eval(other, tokens + 38, 2, SUMI_LOGITS_LAST);
    assert_same_floats(sumi_session_logits(s, 0), sumi_session_logits(other, 0), (size_t)e.vocab, "after refusals");
    assert_int_equal(sumi_session_eval(s, tokens, 1, SUMI_LOGITS_LAST, &err), SUMI_ELIMIT);
    assert_int_equal(sumi_session_n_tokens(s), 40);
    sumi_session_free(s);
    sumi_session_free(other);
    engine_close(&e);
}

static void test_options_are_checked(void **state)
{
    (void)state;
    engine e = engine_open(TINY_MODEL);
    sumi_session *s = session_open(&e, 0, false);
    assert_int_equal(sumi_session_max_tokens(s), 512);
    sumi_session_free(s);
    sumi_error err;
    static const int32_t refused[] = { -1, 513, INT32_MAX };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        const sumi_session_options options = { .max_tokens = refused[i] };
        s = (sumi_session *)&e; /* to see it overwritten */
        assert_int_equal(sumi_session_new(&s, e.model, &options, &err), SUMI_EINVAL);
        assert_non_null(strstr(err.message, "512"));
        assert_null(s);
    }
    assert_int_equal(sumi_session_new(&s, NULL, NULL, &err), SUMI_EINVAL);
    sumi_session_free(NULL);
    engine_close(&e);
}

static void test_cache_reader_checks_its_arguments(void **state)
{
    (void)state;
    engine e = engine_open(TINY_MODEL);
    sumi_session *s = session_open(&e, 0, false);
    const int32_t token = 9;
    eval(s, &token, 1, SUMI_LOGITS_NONE);
    float kv[2 * 64];
    assert_int_equal(sumi_session_read_kv(s, 2, 1, kv, 2 * 64, NULL), SUMI_OK);
    assert_int_equal(sumi_session_read_kv(s, 3, 1, kv, 2 * 64, NULL), SUMI_EINVAL);
    assert_int_equal(sumi_session_read_kv(s, -1, 1, kv, 2 * 64, NULL), SUMI_EINVAL);
    assert_int_equal(sumi_session_read_kv(s, 0, 2, kv, 2 * 64, NULL), SUMI_EINVAL);
    assert_int_equal(sumi_session_read_kv(s, 0, 0, kv, 2 * 64 - 1, NULL), SUMI_EINVAL);
    assert_int_equal(sumi_session_read_kv(s, 0, 0, NULL, 2 * 64, NULL), SUMI_EINVAL);
    sumi_session_free(s);
    engine_close(&e);
}

/* ---- Threads and instruction sets -------------------------------------------------------------------------------
 */

/* Logits of all tokens of a prefill and of some decode steps: rows of the first, then of the second. */
static float *run_mixed(const engine *e, bool exact, int32_t n_prefill, int32_t n_decode)
{
    int32_t tokens[128];
    assert_true(n_prefill + n_decode <= 128);
    fill_tokens(tokens, n_prefill + n_decode, e->vocab, 8);
    const size_t vocab = (size_t)e->vocab;
    float *rows = new_array((size_t)(n_prefill + n_decode) * vocab, sizeof *rows);
    sumi_session *s = session_open(e, 0, exact);
    eval(s, tokens, n_prefill, SUMI_LOGITS_ALL);
    for (int32_t i = 0; i < n_prefill; i++)
        memcpy(rows + (size_t)i * vocab, sumi_session_logits(s, i), vocab * sizeof *rows);
    for (int32_t i = n_prefill; i < n_prefill + n_decode; i++) {
        eval(s, tokens + i, 1, SUMI_LOGITS_LAST);
        memcpy(rows + (size_t)i * vocab, sumi_session_logits(s, 0), vocab * sizeof *rows);
    }
    sumi_session_free(s);
    return rows;
}

static void check_devices(const char *model, bool exact, int32_t n_prefill, int32_t n_decode)
{
    static const struct {
        int32_t n_threads;
        const char *isa;
    } devices[] = { { 1, "scalar" }, { 3, "scalar" }, { 1, "avx2" }, { 2, "avx2" }, { 2, "avx512" },
                    { 2, "neon" },   { 1, NULL },     { 2, NULL },   { 3, NULL } };
    float *expected = NULL;
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        engine e;
        if (!engine_open_on(&e, model, devices[i].n_threads, devices[i].isa)) {
            print_message("no %s here\n", devices[i].isa);
            continue;
        }
        float *rows = run_mixed(&e, exact, n_prefill, n_decode);
        const size_t n = (size_t)(n_prefill + n_decode) * (size_t)e.vocab;
        if (expected) assert_same_floats(rows, expected, n, sumi_device_description(e.device));
        if (expected)
            free(rows);
        else
            expected = rows;
        engine_close(&e);
    }
    free(expected);
}

static void test_devices_agree_on_every_bit(void **state)
{
    (void)state;
    check_devices(TINY_MODEL, false, 70, 5);
    check_devices(TINY_MODEL, true, 70, 5);
    check_devices(GOLDEN_DIR "qwen3-q2.gguf", false, 37, 3);
    check_devices(DEMO_MODEL, false, 4, 1);
}

/* ---- Memory -----------------------------------------------------------------------------------------------------
 */

static void test_decoding_allocates_nothing(void **state)
{
    (void)state;
    engine e = engine_open(TINY_MODEL);
    sumi_session *s = session_open(&e, 0, false);
    int32_t tokens[80];
    fill_tokens(tokens, 80, e.vocab, 4);
    eval(s, tokens, 8, SUMI_LOGITS_LAST);
    eval(s, tokens + 8, 1, SUMI_LOGITS_LAST);
    meter_start();
    const size_t before = meter_now;
    for (int32_t i = 9; i < 80; i++) eval(s, tokens + i, 1, SUMI_LOGITS_LAST); /* over two block borders */
    assert_int_equal(meter_peak_since(before), 0);
    sumi_session_free(s);
    engine_close(&e);
}

static void test_new_survives_any_failed_allocation(void **state)
{
    (void)state;
    if (!meter_can_fail()) skip();
    engine e = engine_open(TINY_MODEL);
    const sumi_session_options options = { .max_tokens = 64 };
    const size_t before = meter_now;
    int32_t n_refused = 0;
    for (int64_t allowed = 0;; allowed++) {
        sumi_session *s;
        sumi_error err;
        meter_fail_after = allowed;
        const sumi_status st = sumi_session_new(&s, e.model, &options, &err);
        meter_fail_after = -1;
        if (st == SUMI_OK) {
            sumi_session_free(s);
            break;
        }
        assert_int_equal(st, SUMI_ENOMEM);
        assert_null(s);
        assert_true(err.message[0] != 0);
        assert_int_equal(meter_now, before);
        n_refused++;
        assert_true(allowed < 1000);
    }
    assert_true(n_refused > 10); /* the session, its buffers, encoder, staging area, history, block table */
    assert_int_equal(meter_now, before);
    engine_close(&e);
}

static void test_eval_survives_failed_allocations(void **state)
{
    (void)state;
    if (!meter_can_fail()) skip();
    engine e = engine_open(TINY_MODEL);
    sumi_session *s = session_open(&e, 64, false), *other = session_open(&e, 64, false);
    int32_t tokens[20];
    fill_tokens(tokens, 20, e.vocab, 6);
    eval(s, tokens, 3, SUMI_LOGITS_NONE);
    for (int64_t allowed = 0;; allowed++) {
        sumi_error err;
        meter_fail_after = allowed;
        const sumi_status st = sumi_session_eval(s, tokens + 3, 17, SUMI_LOGITS_ALL, &err);
        meter_fail_after = -1;
        if (st == SUMI_OK) break;
        assert_int_equal(st, SUMI_ENOMEM);
        assert_int_equal(sumi_session_n_tokens(s), 3);
        assert_true(allowed < 1000);
    }
    eval(other, tokens, 20, SUMI_LOGITS_LAST);
    assert_same_floats(sumi_session_logits(s, 16), sumi_session_logits(other, 0), (size_t)e.vocab, "after failures");
    sumi_session_free(s);
    sumi_session_free(other);
    engine_close(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prefill_equals_decode_fast),
        cmocka_unit_test(test_prefill_equals_decode_exact),
        cmocka_unit_test(test_prefill_equals_decode_demo),
        cmocka_unit_test(test_any_cut_gives_the_same_rows),
        cmocka_unit_test(test_all_rows_of_several_chunks),
        cmocka_unit_test(test_verify_chooses_what_single_steps_choose),
        cmocka_unit_test(test_truncated_session_goes_on_as_a_new_one),
        cmocka_unit_test(test_only_the_rows_asked_for_exist),
        cmocka_unit_test(test_refused_calls_change_nothing),
        cmocka_unit_test(test_options_are_checked),
        cmocka_unit_test(test_cache_reader_checks_its_arguments),
        cmocka_unit_test(test_devices_agree_on_every_bit),
        cmocka_unit_test(test_decoding_allocates_nothing),
        cmocka_unit_test(test_new_survives_any_failed_allocation),
        cmocka_unit_test(test_eval_survives_failed_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
