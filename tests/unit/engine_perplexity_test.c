/* Perplexity against log-softmax of the session's own logits, and its refusals. */
#include "engine_fixture.h"

#include <math.h>

enum { MAX_N = 700 };

static double negative_log_likelihood(const float *logits, int32_t vocab, int32_t token)
{
    long double sum = 0;
    const double top = (double)logits[argmax(logits, vocab)];
    for (int32_t i = 0; i < vocab; i++) sum += expl((long double)logits[i] - (long double)top);
    return (double)(logl(sum) - ((long double)logits[token] - (long double)top));
}

/* The definition, one window after another, each in a session of its own. */
static sumi_perplexity expected_perplexity(const engine *e, bool exact, const int32_t *tokens, int64_t n_tokens,
                                           int32_t window)
{
    double nlls[MAX_N];
    sumi_perplexity p = { 0 };
    for (; (p.n_windows + 1) * (int64_t)window <= n_tokens; p.n_windows++) {
        const int32_t *text = tokens + p.n_windows * window;
        sumi_session *s = session_open(e, 0, exact);
        eval(s, text, window, SUMI_LOGITS_ALL);
        for (int32_t j = window / 2; j <= window - 2; j++)
            nlls[p.n_scored++] = negative_log_likelihood(sumi_session_logits(s, j), e->vocab, text[j + 1]);
        sumi_session_free(s);
    }
    for (int64_t i = 0; i < p.n_scored; i++) p.mean_nll += nlls[i] / (double)p.n_scored;
    double variance = 0;
    for (int64_t i = 0; i < p.n_scored; i++) variance += pow(nlls[i] - p.mean_nll, 2) / (double)p.n_scored;
    p.perplexity = exp(p.mean_nll);
    p.stderr_perplexity = p.perplexity * sqrt(variance / (double)(p.n_scored - 1));
    return p;
}

static void assert_close(double value, double expected, const char *what)
{
    if (!(fabs(value - expected) <= 1e-9 * fabs(expected)))
        fail_msg("%s %.12g, expected %.12g", what, value, expected);
}

typedef struct progress_log {
    uint64_t last, total;
    int32_t n_calls, stop_after;
} progress_log;

static bool note_progress(void *user, uint64_t done, uint64_t total)
{
    progress_log *log = user;
    assert_int_equal(done, log->last + 1);
    log->last = done;
    log->total = total;
    return ++log->n_calls != log->stop_after;
}

static const struct {
    int32_t window;
    int64_t n_tokens;
} cases[] = { { 4, 8 },     /* the smallest: one token scored in each */
              { 16, 51 },   /* a rest of three tokens is not used */
              { 17, 34 },   /* odd */
              { 131, 262 }, /* more than 64 scored rows */
              { 300, 660 } };

static void check_cases(bool exact)
{
    engine e = engine_open(TINY_MODEL);
    sumi_session *s = session_open(&e, 0, exact);
    int32_t tokens[MAX_N];
    fill_tokens(tokens, MAX_N, e.vocab, 12);
    eval(s, tokens, 77, SUMI_LOGITS_NONE); /* to be replaced */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int32_t window = cases[i].window;
        const sumi_perplexity expected = expected_perplexity(&e, exact, tokens, cases[i].n_tokens, window);
        progress_log log = { 0 };
        sumi_perplexity p;
        sumi_error err;
        if (sumi_perplexity_eval(s, tokens, cases[i].n_tokens, window, note_progress, &log, &p, &err))
            fail_msg("%s", err.message);
        assert_int_equal(p.n_windows, cases[i].n_tokens / window);
        assert_int_equal(p.n_scored, p.n_windows * (window - window / 2 - 1));
        assert_close(p.mean_nll, expected.mean_nll, "mean");
        assert_close(p.perplexity, expected.perplexity, "perplexity");
        assert_close(p.stderr_perplexity, expected.stderr_perplexity, "standard error");
        assert_int_equal(log.n_calls, p.n_windows);
        assert_int_equal(log.total, p.n_windows);
    }
    sumi_session_free(s);
    engine_close(&e);
}

static void test_is_what_the_logits_say(void **state)
{
    (void)state;
    check_cases(false);
    check_cases(true);
}

static void test_knows_the_demonstration_model(void **state)
{
    (void)state;
    engine e = engine_open(DEMO_MODEL);
    sumi_session *s = session_open(&e, 64, false);
    static const char tale[] =
        "Once upon a time there was a little girl who lived in a house near the woods. One day she "
        "went to the market with her mother, and there she saw a big dog. The dog was very hungry, "
        "and the little girl gave him a piece of bread.";
    sumi_token_list ids;
    assert_int_equal(sumi_tokenize(e.model, tale, sizeof tale - 1, false, &ids, NULL), SUMI_OK);
    int32_t noise[64];
    fill_tokens(noise, 64, e.vocab, 2);
    sumi_perplexity of_tale, of_noise;
    assert_int_equal(sumi_perplexity_eval(s, ids.ids, ids.n, 24, NULL, NULL, &of_tale, NULL), SUMI_OK);
    assert_int_equal(sumi_perplexity_eval(s, noise, 64, 24, NULL, NULL, &of_noise, NULL), SUMI_OK);
    assert_true(of_tale.perplexity < 60);
    assert_true(of_noise.perplexity > 4096); /* worse than guessing evenly */
    sumi_token_list_free(&ids);
    sumi_session_free(s);
    engine_close(&e);
}

static void test_refusals(void **state)
{
    (void)state;
    engine e = engine_open(TINY_MODEL);
    sumi_session *s = session_open(&e, 64, false);
    int32_t tokens[MAX_N];
    fill_tokens(tokens, MAX_N, e.vocab, 3);
    sumi_perplexity p;
    sumi_error err;
    assert_int_equal(sumi_perplexity_eval(s, tokens, 100, 3, NULL, NULL, &p, &err), SUMI_EINVAL);
    assert_int_equal(sumi_perplexity_eval(s, tokens, 100, -4, NULL, NULL, &p, &err), SUMI_EINVAL);
    assert_int_equal(sumi_perplexity_eval(s, tokens, MAX_N, 65, NULL, NULL, &p, &err), SUMI_EINVAL);
    assert_non_null(strstr(err.message, "65"));
    assert_non_null(strstr(err.message, "64"));
    assert_int_equal(sumi_perplexity_eval(s, tokens, 2 * 64 - 1, 64, NULL, NULL, &p, &err), SUMI_EINVAL);
    assert_non_null(strstr(err.message, "127"));
    assert_non_null(strstr(err.message, "128"));
    assert_int_equal(sumi_perplexity_eval(s, tokens, -1, 64, NULL, NULL, &p, &err), SUMI_EINVAL);
    assert_int_equal(sumi_perplexity_eval(s, NULL, 100, 16, NULL, NULL, &p, &err), SUMI_EINVAL);
    assert_int_equal(sumi_perplexity_eval(NULL, tokens, 100, 16, NULL, NULL, &p, &err), SUMI_EINVAL);
    tokens[20] = e.vocab;
    assert_int_equal(sumi_perplexity_eval(s, tokens, 100, 16, NULL, NULL, &p, &err), SUMI_EINVAL);
    sumi_session_free(s);
    engine_close(&e);
}

static void test_progress_can_stop_it(void **state)
{
    (void)state;
    engine e = engine_open(TINY_MODEL);
    sumi_session *s = session_open(&e, 64, false);
    int32_t tokens[100];
    fill_tokens(tokens, 100, e.vocab, 3);
    progress_log log = { .stop_after = 2 };
    sumi_perplexity p;
    assert_int_equal(sumi_perplexity_eval(s, tokens, 100, 16, note_progress, &log, &p, NULL), SUMI_ECANCELLED);
    assert_int_equal(log.n_calls, 2);
    assert_int_equal(log.total, 6);
    sumi_session_free(s);
    engine_close(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_is_what_the_logits_say),
        cmocka_unit_test(test_knows_the_demonstration_model),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_progress_can_stop_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
