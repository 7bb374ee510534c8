/* Logits, greedy continuations and likelihoods against values recorded from independent programs: the reference
 * implementation of the architecture (transformers) for short sequences, a float64 forward pass for long ones. */
#include "engine_fixture.h"

#include <jansson.h>
#include <math.h>

enum { MAX_TOKENS = 512 };

/* Error of logits against recorded ones, in the 2-norm. A mean over a whole file hides no bad row: one wrong row of
 * 41 adds about 0.15 to it. */
static const double exact_error = 1e-5; /* float32 rounding over three layers: 1e-6 was seen */
static const double fast_error = 3e-2;  /* activations of 8 bits: 2.4e-2 was seen */

/* ---- Recorded values --------------------------------------------------------------------------------------- */

static json_t *load_json(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s%s.json", GOLDEN_DIR, name);
    json_error_t why;
    json_t *root = json_load_file(path, 0, &why);
    if (!root) fail_msg("%s:%d: %s", path, why.line, why.text);
    return root;
}

static const char *text_at(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    if (!text) fail_msg("no text \"%s\"", key);
    return text;
}

static double number_at(const json_t *object, const char *key)
{
    const json_t *number = json_object_get(object, key);
    if (!json_is_number(number)) fail_msg("no number \"%s\"", key);
    return json_number_value(number);
}

/* The integers of an array; returns how many. */
static int32_t read_ids(const json_t *object, const char *key, int32_t ids[MAX_TOKENS])
{
    const json_t *array = json_object_get(object, key);
    const size_t n = json_array_size(array);
    if (n < 1 || n > MAX_TOKENS) fail_msg("array \"%s\" of %zu items", key, n);
    for (size_t i = 0; i < n; i++) {
        const json_t *item = json_array_get(array, i);
        if (!json_is_integer(item)) fail_msg("\"%s\" item %zu is no integer", key, i);
        ids[i] = (int32_t)json_integer_value(item);
    }
    return (int32_t)n;
}

static float *load_floats(const char *name, const char *suffix, size_t *n)
{
    char path[512];
    snprintf(path, sizeof path, "%s%s%s", GOLDEN_DIR, name, suffix);
    FILE *f = fopen(path, "rb");
    if (!f) fail_msg("%s: cannot be opened", path);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    const long n_bytes = ftell(f);
    assert_true(n_bytes > 0 && n_bytes % 4 == 0);
    rewind(f);
    *n = (size_t)n_bytes / 4;
    float *values = new_array(*n, sizeof *values);
    assert_int_equal(fread(values, sizeof *values, *n, f), *n);
    fclose(f);
    return values;
}

/* ---- Comparison ---------------------------------------------------------------------------------------------- */

typedef struct distance {
    double error2, norm2;
} distance;

static void add_distance(distance *d, const float *ours, const float *recorded, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const double error = (double)ours[i] - (double)recorded[i];
        d->error2 += error * error;
        d->norm2 += (double)recorded[i] * (double)recorded[i];
    }
}

/* Also fails on NaN. */
static void assert_near(const distance *d, double limit, const char *name, const char *mode)
{
    const double relative = sqrt(d->error2 / d->norm2);
    print_message("%s, %s: relative error %.2e (limit %.0e)\n", name, mode, relative, limit);
    assert_true(d->norm2 > 0);
    if (!(relative <= limit)) fail_msg("%s, %s: relative error %.3e, limit %.0e", name, mode, relative, limit);
}

static float top2_gap(const float *logits, int32_t vocab)
{
    const int32_t best = argmax(logits, vocab);
    float second = -INFINITY;
    for (int32_t i = 0; i < vocab; i++)
        if (i != best && logits[i] > second) second = logits[i];
    return logits[best] - second;
}

/* Follow the recorded continuation; wherever our choice is not a near tie it must be the recorded one. Returns how
 * many steps were decided. */
static int32_t follow_greedy(const engine *e, sumi_session *s, const int32_t *greedy, int32_t n, float min_gap,
                             const char *name)
{
    int32_t n_decided = 0;
    for (int32_t i = 0; i < n; i++) {
        const float *logits = sumi_session_logits(s, 0);
        assert_non_null(logits);
        const int32_t choice = argmax(logits, e->vocab);
        if (top2_gap(logits, e->vocab) > min_gap) {
            if (choice != greedy[i]) fail_msg("%s, step %d: %d, recorded %d", name, i, choice, greedy[i]);
            n_decided++;
        }
        eval(s, greedy + i, 1, SUMI_LOGITS_LAST);
    }
    return n_decided;
}

/* Every sequence of a file; its logits stand one after another in the file beside it. */
static void check_file(const char *name, bool exact, double limit)
{
    json_t *root = load_json(name);
    size_t n_recorded;
    float *recorded = load_floats(name, ".logits.f32", &n_recorded);
    char model[512];
    snprintf(model, sizeof model, "%s%s.gguf", GOLDEN_DIR, text_at(root, "model"));
    engine e = engine_open(model);
    sumi_session *s = session_open(&e, 0, exact);
    const size_t vocab = (size_t)e.vocab;
    const json_t *sequences = json_object_get(root, "sequences");
    assert_true(json_array_size(sequences) > 0);
    distance d = { 0 };
    size_t done = 0;
    for (size_t i = 0; i < json_array_size(sequences); i++) {
        const json_t *sequence = json_array_get(sequences, i);
        int32_t tokens[MAX_TOKENS], greedy[MAX_TOKENS];
        const int32_t n = read_ids(sequence, "tokens", tokens);
        truncate_to(s, 0);
        eval(s, tokens, n, SUMI_LOGITS_ALL);
        assert_true(done + (size_t)n * vocab <= n_recorded);
        for (int32_t row = 0; row < n; row++, done += vocab)
            add_distance(&d, sumi_session_logits(s, row), recorded + done, vocab);
        if (!exact || !json_object_get(sequence, "greedy")) continue;
        const int32_t n_greedy = read_ids(sequence, "greedy", greedy);
        truncate_to(s, n - 1);
        eval(s, tokens + n - 1, 1, SUMI_LOGITS_LAST);
        const int32_t n_decided = follow_greedy(&e, s, greedy, n_greedy, 1e-3f, name);
        if (number_at(sequence, "min_top2_gap") > 2e-3) assert_int_equal(n_decided, n_greedy);
        assert_true(n_decided * 10 >= n_greedy * 9);
    }
    assert_int_equal(done, n_recorded);
    assert_near(&d, limit, name, exact ? "exact" : "fast");
    sumi_session_free(s);
    engine_close(&e);
    free(recorded);
    json_decref(root);
}

static const char *const files[] = { "qwen3-q1",      "qwen3-q1-hd128-tied",      "qwen3-q2",  "qwen3-f16",
                                     "qwen3-q1-long", "qwen3-q1-hd128-tied-long", "qwen3-yarn" };
enum { N_FILES = sizeof files / sizeof *files };

static void test_exact_mode_gives_the_recorded_logits(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_FILES; i++) check_file(files[i], true, exact_error);
}

static void test_fast_mode_stays_near_the_recorded_logits(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_FILES; i++) check_file(files[i], false, fast_error);
}

/* The recorded choice of each row of a long sequence, from verify, in one call. */
static void test_verify_makes_the_recorded_choices(void **state)
{
    (void)state;
    static const char *const names[] = { "qwen3-q1-long", "qwen3-q1-hd128-tied-long" };
    for (size_t i = 0; i < 2; i++) {
        json_t *root = load_json(names[i]);
        char model[512];
        snprintf(model, sizeof model, "%s%s.gguf", GOLDEN_DIR, text_at(root, "model"));
        engine e = engine_open(model);
        sumi_session *s = session_open(&e, 0, true);
        const json_t *sequence = json_array_get(json_object_get(root, "sequences"), 0);
        int32_t tokens[MAX_TOKENS], recorded[MAX_TOKENS], next[MAX_TOKENS];
        const int32_t n = read_ids(sequence, "tokens", tokens);
        assert_int_equal(read_ids(sequence, "argmax", recorded), n);
        sumi_error err;
        if (sumi_session_verify(s, tokens, n, next, &err)) fail_msg("%s", err.message);
        truncate_to(s, 0);
        eval(s, tokens, n, SUMI_LOGITS_ALL);
        int32_t n_near_ties = 0;
        for (int32_t row = 0; row < n; row++) {
            if (top2_gap(sumi_session_logits(s, row), e.vocab) > 1e-3f)
                assert_int_equal(next[row], recorded[row]);
            else
                n_near_ties++;
        }
        assert_true(n_near_ties * 50 <= n);
        sumi_session_free(s);
        engine_close(&e);
        json_decref(root);
    }
}

/* ---- The demonstration model -------------------------------------------------------------------------------------
 */

static double negative_log_likelihood(const float *logits, int32_t vocab, int32_t token)
{
    double max = -INFINITY, sum = 0;
    for (int32_t i = 0; i < vocab; i++) max = fmax(max, (double)logits[i]);
    for (int32_t i = 0; i < vocab; i++) sum += exp((double)logits[i] - max);
    return max + log(sum) - (double)logits[token];
}

static void check_tales(bool exact, double nll_limit, double logit_limit)
{
    json_t *root = load_json("tales-512");
    size_t n_recorded;
    float *recorded = load_floats("tales-512", ".last16.f32", &n_recorded);
    char model[512];
    snprintf(model, sizeof model, "%s/%s", SUMI_MODELS, text_at(root, "model"));
    engine e = engine_open(model);
    sumi_session *s = session_open(&e, 0, exact);
    int32_t tokens[MAX_TOKENS];
    const int32_t n = read_ids(root, "tokens", tokens), n_last = (int32_t)number_at(root, "last_rows");
    assert_int_equal(n_recorded, (size_t)n_last * (size_t)e.vocab);
    eval(s, tokens, n, SUMI_LOGITS_ALL);

    const json_t *nlls = json_object_get(root, "nll");
    assert_int_equal(json_array_size(nlls), n - 1);
    double sum = 0, worst = 0;
    for (int32_t row = 0; row < n - 1; row++) {
        const double nll = negative_log_likelihood(sumi_session_logits(s, row), e.vocab, tokens[row + 1]);
        sum += nll;
        worst = fmax(worst, fabs(nll - json_number_value(json_array_get(nlls, (size_t)row))));
    }
    const double mean = sum / (n - 1), expected = number_at(root, "mean_nll");
    print_message("tales-512, %s: mean %.6f, recorded %.6f, worst token off by %.1e\n", exact ? "exact" : "fast",
                  mean, expected, worst);
    if (!(fabs(mean - expected) <= nll_limit)) fail_msg("mean %.6f, recorded %.6f", mean, expected);

    distance d = { 0 };
    for (int32_t i = 0; i < n_last; i++)
        add_distance(&d, sumi_session_logits(s, n - n_last + i), recorded + (size_t)i * (size_t)e.vocab,
                     (size_t)e.vocab);
    assert_near(&d, logit_limit, "tales-512, last rows", exact ? "exact" : "fast");
    sumi_session_free(s);
    engine_close(&e);
    free(recorded);
    json_decref(root);
}

static void test_demonstration_model(void **state)
{
    (void)state;
    check_tales(true, 1e-4, exact_error);
    check_tales(false, 3e-3, fast_error); /* a ratio of perplexities of 1.003 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact_mode_gives_the_recorded_logits),
        cmocka_unit_test(test_fast_mode_stays_near_the_recorded_logits),
        cmocka_unit_test(test_verify_makes_the_recorded_choices),
        cmocka_unit_test(test_demonstration_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
