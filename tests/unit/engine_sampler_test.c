/* The sampler through its public functions: which tokens each step leaves (the set seen in many draws), how often
 * each is drawn, penalties by the value at which another token overtakes, and sequences that seeds repeat. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/candidates.h"
#include "engine/rng.h"
#include "sumi.h"

/* Every step off: the plain distribution of the logits. */
static sumi_sampling plain(void)
{
    return (sumi_sampling){ .temperature = 1, .top_p = 1, .repeat_penalty = 1, .penalty_last_n = 64, .seed = 7 };
}

static sumi_sampling greedy(void)
{
    sumi_sampling s = plain();
    s.temperature = 0;
    return s;
}

static sumi_sampler *open_sampler(const sumi_sampling *sampling, int32_t vocab)
{
    sumi_sampler *sampler = NULL;
    sumi_error err = { 0 };
    if (sumi_sampler_new(&sampler, sampling, vocab, &err)) fail_msg("%s", err.message);
    assert_non_null(sampler);
    return sampler;
}

static int32_t sample(sumi_sampler *sampler, const float *logits)
{
    int32_t token = -1;
    sumi_error err = { 0 };
    if (sumi_sampler_sample(sampler, logits, &token, &err)) fail_msg("%s", err.message);
    return token;
}

static int32_t choose_once(const sumi_sampling *sampling, const float *logits, int32_t vocab)
{
    sumi_sampler *sampler = open_sampler(sampling, vocab);
    const int32_t token = sample(sampler, logits);
    sumi_sampler_free(sampler);
    return token;
}

/* The tokens that 3000 draws show, as text: "0 2 3". A token of probability 0.01 is missed once in 10^13. */
static void assert_support(const sumi_sampling *sampling, const float *logits, int32_t vocab, const char *expected)
{
    bool seen[16] = { false };
    assert_true(vocab <= 16);
    sumi_sampler *sampler = open_sampler(sampling, vocab);
    for (int i = 0; i < 3000; i++) seen[sample(sampler, logits)] = true;
    sumi_sampler_free(sampler);

    char text[64] = "";
    size_t n = 0;
    for (int32_t id = 0; id < vocab; id++)
        if (seen[id]) n += (size_t)snprintf(text + n, sizeof text - n, n ? " %d" : "%d", id);
    assert_string_equal(text, expected);
}

/* ---- Options ------------------------------------------------------------------------------------------- */

static void defaults(void **state)
{
    (void)state;
    const sumi_sampling s = sumi_sampling_defaults();
    assert_true(s.temperature == 0.8f && s.top_k == 40 && s.top_p == 0.95f && s.min_p == 0.05f);
    assert_true(s.repeat_penalty == 1 && s.presence_penalty == 0 && s.frequency_penalty == 0);
    assert_true(s.penalty_last_n == 64 && s.seed == SUMI_SEED_RANDOM);
}

static void assert_refused(const sumi_sampling *sampling, int32_t vocab, const char *part)
{
    sumi_sampler *sampler = (sumi_sampler *)(uintptr_t)1;
    sumi_error err = { 0 };
    assert_int_equal(sumi_sampler_new(&sampler, sampling, vocab, &err), SUMI_EINVAL);
    assert_null(sampler);
    assert_int_equal(err.status, SUMI_EINVAL);
    if (!strstr(err.message, part)) fail_msg("no \"%s\" in \"%s\"", part, err.message);
    assert_int_equal(sumi_sampler_new(&sampler, sampling, vocab, NULL), SUMI_EINVAL);
}

static void bad_options(void **state)
{
    (void)state;
#define REFUSED(field_, value_, part)  \
    do {                               \
        sumi_sampling s_ = plain();    \
        s_.field_ = (value_);          \
        assert_refused(&s_, 10, part); \
    } while (0)
    REFUSED(temperature, -0.5f, "temperature is -0.5, must be finite and not negative");
    REFUSED(temperature, NAN, "temperature");
    REFUSED(temperature, INFINITY, "temperature");
    REFUSED(top_k, -1, "top_k is -1, must be not negative");
    REFUSED(top_p, -0.25f, "top_p is -0.25, must be from 0 to 1");
    REFUSED(top_p, 1.5f, "top_p");
    REFUSED(top_p, NAN, "top_p");
    REFUSED(min_p, -0.25f, "min_p");
    REFUSED(min_p, 1.5f, "min_p");
    REFUSED(min_p, NAN, "min_p");
    REFUSED(repeat_penalty, 0.0f, "repeat_penalty is 0, must be finite and above 0");
    REFUSED(repeat_penalty, -1.0f, "repeat_penalty");
    REFUSED(repeat_penalty, INFINITY, "repeat_penalty");
    REFUSED(presence_penalty, NAN, "presence_penalty");
    REFUSED(presence_penalty, -INFINITY, "presence_penalty");
    REFUSED(frequency_penalty, INFINITY, "frequency_penalty");
    REFUSED(penalty_last_n, -2, "penalty_last_n is -2, must be from -1 to 1048576");
    REFUSED(penalty_last_n, 1048577, "penalty_last_n");
#undef REFUSED
    const sumi_sampling s = plain();
    assert_refused(&s, 0, "vocabulary of 0");
    assert_refused(&s, -3, "vocabulary of -3");
}

static void options_at_their_limits(void **state)
{
    (void)state;
    const float logits[] = { 0, 2, 1 };
    sumi_sampling s = plain();
    s.top_k = INT32_MAX;
    s.top_p = 0;
    s.min_p = 1;
    s.penalty_last_n = 1048576;
    s.presence_penalty = -2;
    s.seed = 0;
    assert_int_equal(choose_once(&s, logits, 3), 1);
    s.seed = UINT64_MAX - 1;
    assert_int_equal(choose_once(&s, logits, 3), 1);
    sumi_sampler_free(NULL);
}

/* ---- Greedy, and numbers that are none -------------------------------------------------------------------- */

static void greedy_takes_the_highest(void **state)
{
    (void)state;
    const sumi_sampling s = greedy();
    assert_int_equal(choose_once(&s, (const float[]){ -3, -1, -2 }, 3), 1);
    assert_int_equal(choose_once(&s, (const float[]){ 1, 5, 5, 5 }, 4), 1);
    assert_int_equal(choose_once(&s, (const float[]){ -0.0f, 0.0f }, 2), 0);
    assert_int_equal(choose_once(&s, (const float[]){ NAN, 1, NAN, 2, NAN }, 5), 3);
    assert_int_equal(choose_once(&s, (const float[]){ -INFINITY, -1e38f, NAN }, 3), 1);
    assert_int_equal(choose_once(&s, (const float[]){ -7 }, 1), 0);
}

static void not_finite(void **state)
{
    (void)state;
    static const struct {
        float logits[3];
        const char *message;
    } cases[] = { { { NAN, NAN, NAN }, "none of 3 logits is finite" },
                  { { -INFINITY, NAN, -INFINITY }, "none of 3 logits is finite" },
                  { { 1, NAN, INFINITY }, "token 2, is inf" } };
    for (int i_mode = 0; i_mode < 3; i_mode++) {
        sumi_sampling s = i_mode == 0 ? greedy() : plain();
        s.top_k = i_mode == 2 ? 2 : 0;
        sumi_sampler *sampler = open_sampler(&s, 3);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            int32_t token = 99;
            sumi_error err = { 0 };
            assert_int_equal(sumi_sampler_sample(sampler, cases[i].logits, &token, &err), SUMI_ENUMERIC);
            assert_int_equal(token, 99);
            assert_int_equal(err.status, SUMI_ENUMERIC);
            if (!strstr(err.message, cases[i].message)) fail_msg("\"%s\"", err.message);
        }
        assert_int_equal(sample(sampler, (const float[]){ NAN, 1, -INFINITY }), 1); /* usable after a failure */
        sumi_sampler_free(sampler);
    }
}

static void penalty_that_overflows(void **state)
{
    (void)state;
    sumi_sampling s = greedy();
    s.repeat_penalty = 1e-30f;
    sumi_sampler *sampler = open_sampler(&s, 2);
    sumi_sampler_accept(sampler, 0);
    int32_t token;
    assert_int_equal(sumi_sampler_sample(sampler, (const float[]){ 1e20f, 3 }, &token, NULL), SUMI_ENUMERIC);
    sumi_sampler_free(sampler);
}

static void impossible_tokens_are_never_drawn(void **state)
{
    (void)state;
    const sumi_sampling s = plain();
    assert_support(&s, (const float[]){ NAN, 1, -INFINITY, 1, NAN, 1, -200 }, 7, "1 3 5");
}

/* ---- Steps that narrow down ------------------------------------------------------------------------------ */

/* Probabilities 1/8, 1/2, 1/8, 1/4. */
static const float EIGHTHS[4] = { -2.0794415f, -0.6931472f, -2.0794415f, -1.3862944f };

static void top_k(void **state)
{
    (void)state;
    static const char *const KEPT[] = { "0 1 2 3", "1", "1 3", "0 1 3", "0 1 2 3", "0 1 2 3" };
    sumi_sampling s = plain();
    for (s.top_k = 0; s.top_k < 6; s.top_k++) assert_support(&s, EIGHTHS, 4, KEPT[s.top_k]);
    s.top_k = 3;
    assert_support(&s, (const float[]){ 0, 1, 1, 1, 1, 2 }, 6, "1 2 5");
    assert_support(&s, (const float[]){ NAN, 1, -INFINITY, NAN }, 4, "1");
}

static void top_p(void **state)
{
    (void)state;
    static const struct {
        float top_p;
        const char *kept;
    } cases[] = { { 0, "1" },         { 0.49f, "1" },     { 0.51f, "1 3" },     { 0.74f, "1 3" },
                  { 0.76f, "0 1 3" }, { 0.87f, "0 1 3" }, { 0.88f, "0 1 2 3" }, { 1, "0 1 2 3" } };
    sumi_sampling s = plain();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        s.top_p = cases[i].top_p;
        assert_support(&s, EIGHTHS, 4, cases[i].kept);
    }
    s.top_p = 0.5f; /* reached exactly: equal logits weigh exactly 1 each */
    assert_support(&s, (const float[]){ 3, 3, 3, 3 }, 4, "0 1");
}

static void min_p(void **state)
{
    (void)state;
    static const struct {
        float min_p;
        const char *kept;
    } cases[] = { { 0, "0 1 2 3" }, { 0.24f, "0 1 2 3" }, { 0.26f, "1 3" },
                  { 0.49f, "1 3" }, { 0.51f, "1" },       { 1, "1" } };
    sumi_sampling s = plain();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        s.min_p = cases[i].min_p;
        assert_support(&s, EIGHTHS, 4, cases[i].kept);
    }
    assert_support(&s, (const float[]){ 1, 3, 2.9f, 3 }, 4, "1 3"); /* min_p 1 keeps all that equal the best */
}

static void order_of_steps(void **state)
{
    (void)state;
    sumi_sampling s = plain();
    s.top_p = 0.6f;
    assert_support(&s, EIGHTHS, 4, "1 3");
    s.top_k = 2; /* top-p sees 2/3, 1/3 */
    assert_support(&s, EIGHTHS, 4, "1");

    s = plain();
    s.top_p = 0.6f;
    s.temperature = 0.5f; /* before top-p it would leave token 1, with 16/22, alone */
    assert_support(&s, EIGHTHS, 4, "1 3");
    s = plain();
    s.min_p = 0.4f;
    s.temperature = 4; /* before min-p it would keep all, 1/8 then having 0.7 of the best */
    assert_support(&s, EIGHTHS, 4, "1 3");

    s = plain();
    s.top_k = 1;
    s.presence_penalty = 1; /* before top-k: token 3 overtakes */
    sumi_sampler *sampler = open_sampler(&s, 4);
    sumi_sampler_accept(sampler, 1);
    assert_int_equal(sample(sampler, EIGHTHS), 3);
    sumi_sampler_free(sampler);
}

/* ---- Large vocabularies against sorting ------------------------------------------------------------------ */

enum { N_MANY = 5000 };

static int compare_entries(const void *a, const void *b)
{
    const float *x = *(const float *const *)a, *y = *(const float *const *)b;
    if (*x != *y) return *x > *y ? -1 : 1;
    return x < y ? -1 : 1;
}

/* Logits of few distinct values, so that ties are everywhere, and some NaN; sorted[] points at the others. */
static int32_t make_many(float *logits, const float **sorted, uint64_t seed)
{
    sumi_rng rng;
    sumi_rng_seed(&rng, seed);
    int32_t n = 0;
    for (int32_t i = 0; i < N_MANY; i++) {
        const uint64_t r = sumi_rng_next(&rng) >> 32;
        logits[i] = r % 50 == 0 ? NAN : (float)(r % 200) / 100;
        if (!isnan(logits[i])) sorted[n++] = &logits[i];
    }
    qsort(sorted, (size_t)n, sizeof *sorted, compare_entries);
    return n;
}

/* All draws lie within the first n_kept of the order, and each of those occurs. */
static void assert_draws_first(const sumi_sampling *s, const float *logits, const float **sorted, int32_t n_kept)
{
    static int32_t n_draws[N_MANY];
    memset(n_draws, 0, sizeof n_draws);
    sumi_sampler *sampler = open_sampler(s, N_MANY);
    for (int32_t i = 0; i < 30 * n_kept; i++) n_draws[sample(sampler, logits)]++;
    sumi_sampler_free(sampler);
    int32_t n_inside = 0;
    for (int32_t i = 0; i < n_kept; i++) {
        const ptrdiff_t id = sorted[i] - logits;
        if (!n_draws[id]) fail_msg("token %td, place %d of %d, is missing", id, i, n_kept);
        n_inside += n_draws[id];
    }
    assert_int_equal(n_inside, 30 * n_kept);
}

static void many_tokens(void **state)
{
    (void)state;
    static float logits[N_MANY];
    static const float *sorted[N_MANY];
    static const int32_t KS[] = { 1, 2, 3, 7, 40, 64 };
    for (uint64_t seed = 1; seed <= 3; seed++) {
        const int32_t n = make_many(logits, sorted, seed);
        sumi_sampling s = plain();
        for (size_t i = 0; i < sizeof KS / sizeof *KS; i++) {
            s.top_k = KS[i];
            assert_draws_first(&s, logits, sorted, KS[i]);
        }

        double total = 0, kept = 0;
        int32_t n_kept = 0;
        for (int32_t i = 0; i < n; i++) total += exp((double)*sorted[i] - (double)*sorted[0]);
        s.top_k = 0;
        s.top_p = 0.0217f;
        while (kept < (double)s.top_p * total) kept += exp((double)*sorted[n_kept++] - (double)*sorted[0]);
        assert_in_range(n_kept, 20, 100);
        assert_draws_first(&s, logits, sorted, n_kept);
    }
}

/* ---- Drawing --------------------------------------------------------------------------------------------- */

static void frequencies_follow_temperature(void **state)
{
    (void)state;
    enum { N_DRAWS = 100000, N_TOKENS = 5 };
    const float logits[N_TOKENS] = { 0.5f, -1, 2, 1.25f, 0 };
    static const float TEMPERATURES[] = { 0.5f, 1, 3 };
    for (size_t t = 0; t < sizeof TEMPERATURES / sizeof *TEMPERATURES; t++) {
        sumi_sampling s = plain();
        s.temperature = TEMPERATURES[t];
        s.top_p = 0.9999f; /* keeps all; the reordering must not disturb the weights */
        int32_t n_draws[N_TOKENS] = { 0 };
        sumi_sampler *sampler = open_sampler(&s, N_TOKENS);
        for (int i = 0; i < N_DRAWS; i++) n_draws[sample(sampler, logits)]++;
        sumi_sampler_free(sampler);

        double total = 0;
        for (int i = 0; i < N_TOKENS; i++) total += exp((double)logits[i] / (double)s.temperature);
        for (int i = 0; i < N_TOKENS; i++) {
            const double p = exp((double)logits[i] / (double)s.temperature) / total;
            const double sigma = sqrt(p * (1 - p) / N_DRAWS);
            assert_true(fabs((double)n_draws[i] / N_DRAWS - p) < 4 * sigma);
        }
    }
}

static int32_t draw_at(const float logits[4], double position)
{
    sumi_candidates c;
    assert_int_equal(sumi_candidates_init(&c, 4, NULL), SUMI_OK);
    sumi_candidates_select(&c, logits, 4);
    sumi_candidates_weigh(&c, 1);
    const int32_t token = sumi_candidates_draw(&c, position);
    sumi_candidates_deinit(&c);
    return token;
}

static void draws_at_borders(void **state)
{
    (void)state;
    static const float EQUAL[4] = { 2, 2, 2, 2 }, TWO[4] = { -200, 0, -200, 0 }; /* exp(-200) is 0 */
    const double last = 1 - 0x1p-53;
    assert_int_equal(draw_at(EQUAL, 0), 0);
    assert_int_equal(draw_at(EQUAL, 0.25 - 0x1p-54), 0);
    assert_int_equal(draw_at(EQUAL, 0.25), 1);
    assert_int_equal(draw_at(EQUAL, last), 3);
    assert_int_equal(draw_at(TWO, 0), 1);
    assert_int_equal(draw_at(TWO, 0.5), 3);
    assert_int_equal(draw_at(TWO, last), 3);
    assert_int_equal(draw_at((const float[]){ 0, NAN, -200, -200 }, last), 0);
    for (int i = 1; i < 1000; i++) /* totals of all kinds: the product never reaches them */
        assert_in_range(draw_at((const float[]){ 0, -(float)i / 7, -(float)i / 100, -200 }, last), 0, 2);
}

static void extreme_temperatures(void **state)
{
    (void)state;
    const float logits[] = { 1, 1.001f, -3e38f, 0 };
    sumi_sampling s = plain();
    s.temperature = 1e-45f;
    assert_support(&s, logits, 4, "1");
    s.temperature = 3e38f;
    assert_support(&s, (const float[]){ 1, 2, -500, 1000 }, 4, "0 1 2 3");
}

static void logits_stay_as_they_were(void **state)
{
    (void)state;
    float logits[4], before[4];
    memcpy(logits, EIGHTHS, sizeof logits);
    memcpy(before, logits, sizeof logits);
    sumi_sampling s = sumi_sampling_defaults();
    s.repeat_penalty = 1.5f;
    s.frequency_penalty = 1;
    sumi_sampler *sampler = open_sampler(&s, 4);
    for (int i = 0; i < 20; i++) sumi_sampler_accept(sampler, sample(sampler, logits));
    sumi_sampler_free(sampler);
    assert_memory_equal(logits, before, sizeof logits);
}

/* ---- Penalties ------------------------------------------------------------------------------------------- */

/* Token 0 has `logit`; after the history its value is `expected`: a rival slightly below loses, slightly above wins.
 */
static void assert_penalised(const sumi_sampling *s, const int32_t *history, int32_t n, float logit, float expected)
{
    sumi_sampler *sampler = open_sampler(s, 4);
    for (int32_t i = 0; i < n; i++) sumi_sampler_accept(sampler, history[i]);
    assert_int_equal(sample(sampler, (const float[]){ logit, -100, -100, expected - 0.001f }), 0);
    assert_int_equal(sample(sampler, (const float[]){ logit, -100, -100, expected + 0.001f }), 3);
    sumi_sampler_free(sampler);
}

static void penalties(void **state)
{
    (void)state;
    static const int32_t HISTORY[] = { 0, 1, 0, 2, 0, 1 };
    sumi_sampling s = greedy();
    s.repeat_penalty = 2;
    assert_penalised(&s, HISTORY, 6, 4, 2); /* once, however often the token occurs */
    assert_penalised(&s, HISTORY, 6, -3, -6);
    assert_penalised(&s, HISTORY + 1, 1, 4, 4);
    assert_penalised(&s, HISTORY, 0, 4, 4);

    s = greedy();
    s.frequency_penalty = 0.5f;
    assert_penalised(&s, HISTORY, 1, 4, 3.5f);
    assert_penalised(&s, HISTORY, 6, 4, 2.5f);
    s.presence_penalty = 1.25f;
    assert_penalised(&s, HISTORY, 6, 4, 1.25f);
    s.repeat_penalty = 2; /* first, then the two that subtract */
    assert_penalised(&s, HISTORY, 6, 4, -0.75f);
    s = greedy();
    s.presence_penalty = -1; /* a reward */
    assert_penalised(&s, HISTORY, 6, 4, 5);
}

static void penalty_window(void **state)
{
    (void)state;
    static const int32_t HISTORY[] = { 0, 0, 1, 0, 2, 1, 2 };
    static const struct {
        int32_t last_n, n_history;
        float expected; /* 10 - occurrences of token 0 in the window */
    } cases[] = { { 0, 7, 10 }, { 1, 7, 10 }, { 1, 4, 9 }, { 3, 7, 10 }, { 4, 7, 9 },
                  { 6, 7, 8 },  { 7, 7, 7 },  { 8, 7, 7 }, { 2, 2, 8 },  { -1, 7, 7 } };
    sumi_sampling s = greedy();
    s.frequency_penalty = 1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        s.penalty_last_n = cases[i].last_n;
        assert_penalised(&s, HISTORY, cases[i].n_history, 10, cases[i].expected);
    }
}

static void tokens_outside_the_vocabulary_are_not_counted(void **state)
{
    (void)state;
    static const int32_t HISTORY[] = { 0, -1, 4, INT32_MAX, INT32_MIN };
    sumi_sampling s = greedy();
    s.frequency_penalty = 1;
    s.penalty_last_n = 2;
    assert_penalised(&s, HISTORY, 5, 10, 9);
}

/* ---- Seeds ------------------------------------------------------------------------------------------------ */

static void generator(void **state)
{
    (void)state;
    /* First outputs of the authors' programs xoshiro256starstar.c (state 1, 2, 3, 4) and splitmix64.c. */
    static const uint64_t OUTPUTS[] = {
        11520, 0, 1509978240, 1215971899390074240, 1216172134540287360, 607988272756665600
    };
    static const uint64_t STATE[] = { 6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
                                      4593380528125082431u };
    sumi_rng rng = { { 1, 2, 3, 4 } };
    for (size_t i = 0; i < sizeof OUTPUTS / sizeof *OUTPUTS; i++) assert_true(sumi_rng_next(&rng) == OUTPUTS[i]);
    sumi_rng_seed(&rng, 1234567);
    assert_memory_equal(rng.state, STATE, sizeof STATE);

    sumi_rng same = rng;
    for (int i = 0; i < 1000; i++) {
        const double u = sumi_rng_uniform(&rng);
        assert_true(u >= 0 && u < 1);
        assert_true((uint64_t)(u * 0x1p53) == sumi_rng_next(&same) >> 11);
    }
    /* The largest value there is, 1 - 2^-53: state[1] = 0 would give output 0; this one gives all ones. */
    uint64_t s1 = UINT64_MAX * 0x8e38e38e38e38e39u;  /* / 9 */
    s1 = (s1 >> 7 | s1 << 57) * 0xcccccccccccccccdu; /* / 5 */
    rng = (sumi_rng){ { 0, s1, 0, 0 } };
    assert_true(sumi_rng_uniform(&rng) == 1 - 0x1p-53);
}

/* 256 equal logits: the token is the generator's top byte. */
static void draws_use_the_generator(void **state)
{
    (void)state;
    const float logits[256] = { 0 };
    sumi_sampling s = plain();
    s.seed = 20240607;
    sumi_rng rng;
    sumi_rng_seed(&rng, s.seed);
    sumi_sampler *sampler = open_sampler(&s, 256);
    assert_true(sumi_sampler_seed(sampler) == s.seed);
    for (int i = 0; i < 1000; i++) assert_int_equal(sample(sampler, logits), sumi_rng_next(&rng) >> 56);
    sumi_sampler_free(sampler);
}

static void draw_text(const sumi_sampling *s, int32_t tokens[64], uint64_t *seed)
{
    float logits[300];
    for (int i = 0; i < 300; i++) logits[i] = (float)(i * 7919 % 300) / 50;
    sumi_sampler *sampler = open_sampler(s, 300);
    for (int i = 0; i < 64; i++) {
        tokens[i] = sample(sampler, logits);
        sumi_sampler_accept(sampler, tokens[i]);
    }
    *seed = sumi_sampler_seed(sampler);
    sumi_sampler_free(sampler);
}

static void seeds(void **state)
{
    (void)state;
    int32_t first[64], again[64], other[64];
    uint64_t seed, other_seed;
    sumi_sampling s = sumi_sampling_defaults();
    s.repeat_penalty = 1.1f;
    s.seed = 42;
    draw_text(&s, first, &seed);
    draw_text(&s, again, &seed);
    assert_memory_equal(first, again, sizeof first);
    s.seed = 43;
    draw_text(&s, other, &seed);
    assert_memory_not_equal(first, other, sizeof first);

    s.seed = SUMI_SEED_RANDOM;
    draw_text(&s, first, &seed);
    draw_text(&s, other, &other_seed);
    assert_true(seed != SUMI_SEED_RANDOM && seed != other_seed);
    assert_memory_not_equal(first, other, sizeof first);
    s.seed = seed;
    draw_text(&s, again, &other_seed);
    assert_true(other_seed == seed);
    assert_memory_equal(first, again, sizeof first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),
        cmocka_unit_test(bad_options),
        cmocka_unit_test(options_at_their_limits),
        cmocka_unit_test(greedy_takes_the_highest),
        cmocka_unit_test(not_finite),
        cmocka_unit_test(penalty_that_overflows),
        cmocka_unit_test(impossible_tokens_are_never_drawn),
        cmocka_unit_test(top_k),
        cmocka_unit_test(top_p),
        cmocka_unit_test(min_p),
        cmocka_unit_test(order_of_steps),
        cmocka_unit_test(many_tokens),
        cmocka_unit_test(frequencies_follow_temperature),
        cmocka_unit_test(draws_at_borders),
        cmocka_unit_test(extreme_temperatures),
        cmocka_unit_test(logits_stay_as_they_were),
        cmocka_unit_test(penalties),
        cmocka_unit_test(penalty_window),
        cmocka_unit_test(tokens_outside_the_vocabulary_are_not_counted),
        cmocka_unit_test(generator),
        cmocka_unit_test(draws_use_the_generator),
        cmocka_unit_test(seeds),
    };
    return cmocka_run_group_tests_name("sampler", tests, NULL, NULL);
}
