/* Sampling: from a row of logits to one token. What came before enters through the penalties; candidates.c does the
 * rest. */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "engine/candidates.h"
#include "engine/rng.h"
#include "engine/sampler.h"
#include "sumi.h"

/* The window is kept in memory: above this, -1 (everything, which needs only the counts) is what is meant. */
enum { MAX_PENALTY_WINDOW = 1 << 20 };

/* How often each token occurs in the window of the penalties. */
typedef struct window {
    int32_t *counts; /* [vocab] */
    int32_t *ring;   /* [capacity] the window's tokens; NULL: everything is counted and nothing leaves */
    int32_t capacity, n, next;
} window;

struct sumi_sampler {
    sumi_sampling options; /* with the seed in use */
    int32_t vocab;
    bool has_penalties;
    window window;    /* empty without penalties */
    float *penalised; /* [vocab] scratch; NULL without penalties */
    sumi_candidates candidates;
    sumi_rng rng;
};

sumi_sampling sumi_sampling_defaults(void)
{
    return (sumi_sampling){
        .temperature = 0.8f,
        .top_k = 40,
        .top_p = 0.95f,
        .min_p = 0.05f,
        .repeat_penalty = 1,
        .presence_penalty = 0,
        .frequency_penalty = 0,
        .penalty_last_n = 64,
        .seed = SUMI_SEED_RANDOM,
    };
}

/* ---- Options ------------------------------------------------------------------------------------------- */

static sumi_status validate(const sumi_sampling *o, sumi_error *err)
{
    const struct {
        const char *field;
        double value, min, max;
        const char *range;
    } fields[] = {
        { "temperature", (double)o->temperature, 0, (double)FLT_MAX, "finite and not negative" },
        { "top_k", o->top_k, 0, INT32_MAX, "not negative" },
        { "top_p", (double)o->top_p, 0, 1, "from 0 to 1" },
        { "min_p", (double)o->min_p, 0, 1, "from 0 to 1" },
        { "repeat_penalty", (double)o->repeat_penalty, (double)FLT_TRUE_MIN, (double)FLT_MAX, "finite and above 0" },
        { "presence_penalty", (double)o->presence_penalty, -(double)FLT_MAX, (double)FLT_MAX, "finite" },
        { "frequency_penalty", (double)o->frequency_penalty, -(double)FLT_MAX, (double)FLT_MAX, "finite" },
        { "penalty_last_n", o->penalty_last_n, -1, MAX_PENALTY_WINDOW, "from -1 to 1048576" },
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (!(fields[i].value >= fields[i].min && fields[i].value <= fields[i].max)) /* so that NaN fails */
            return sumi_fail(err, SUMI_EINVAL, "sampling: %s is %.9g, must be %s", fields[i].field, fields[i].value,
                             fields[i].range);
    return SUMI_OK;
}

static sumi_status choose_seed(uint64_t *seed, sumi_error *err)
{
    while (*seed == SUMI_SEED_RANDOM) /* again for a draw that would mean "random" when passed back */
        if (getentropy(seed, sizeof *seed))
            return sumi_fail(err, SUMI_EIO, "sampling: no seed from the system: %s", strerror(errno));
    return SUMI_OK;
}

/* ---- Penalties ------------------------------------------------------------------------------------------- */

static bool has_penalties(const sumi_sampling *o)
{
    return o->penalty_last_n != 0 &&
           (o->repeat_penalty != 1 || o->presence_penalty != 0 || o->frequency_penalty != 0);
}

static sumi_status init_penalties(sumi_sampler *s, sumi_error *err)
{
    const size_t vocab = (size_t)s->vocab;
    window *w = &s->window;
    w->capacity = s->options.penalty_last_n > 0 ? s->options.penalty_last_n : 0;
    w->counts = calloc(vocab, sizeof *w->counts);
    s->penalised = calloc(vocab, sizeof *s->penalised);
    if (w->capacity > 0) w->ring = calloc((size_t)w->capacity, sizeof *w->ring);
    if (!w->counts || !s->penalised || (w->capacity > 0 && !w->ring))
        return sumi_fail(err, SUMI_ENOMEM, "sampler: penalties of %zu tokens, window %d", vocab,
                         s->options.penalty_last_n);
    return SUMI_OK;
}

static void push(window *w, int32_t token)
{
    if (w->ring) {
        if (w->n == w->capacity)
            w->counts[w->ring[w->next]]--;
        else
            w->n++;
        w->ring[w->next] = token;
        w->next = (w->next + 1) % w->capacity;
    }
    if (w->counts[token] < INT32_MAX) w->counts[token]++;
}

/* Repetition: Keskar et al. 2019, "CTRL", 4.1, with negative logits multiplied so that they fall too. Presence and
 * frequency: as in OpenAI's API. */
static float penalise(const sumi_sampling *o, float logit, int32_t count)
{
    logit = logit > 0 ? logit / o->repeat_penalty : logit * o->repeat_penalty;
    return logit - (float)count * o->frequency_penalty - o->presence_penalty;
}

static const float *apply_penalties(sumi_sampler *s, const float *logits)
{
    if (!s->has_penalties) return logits;
    const int32_t *counts = s->window.counts;
    for (int32_t id = 0; id < s->vocab; id++)
        s->penalised[id] = counts[id] ? penalise(&s->options, logits[id], counts[id]) : logits[id];
    return s->penalised;
}

/* ---- Sampler ------------------------------------------------------------------------------------------- */

sumi_status sumi_sampler_new(sumi_sampler **out, const sumi_sampling *sampling, int32_t vocab, sumi_error *err)
{
    if (!out) return sumi_fail(err, SUMI_EINVAL, "sampler: out is NULL");
    *out = NULL;
    if (!sampling) return sumi_fail(err, SUMI_EINVAL, "sampler: sampling is NULL");
    if (vocab < 1) return sumi_fail(err, SUMI_EINVAL, "sampler: a vocabulary of %d tokens", vocab);
    sumi_status st = validate(sampling, err);
    if (st) return st;
    sumi_sampler *s = calloc(1, sizeof *s);
    if (!s) return sumi_fail(err, SUMI_ENOMEM, "sampler: %zu bytes", sizeof *s);

    s->options = *sampling;
    s->vocab = vocab;
    st = choose_seed(&s->options.seed, err);
    if (st) goto fail;
    sumi_rng_seed(&s->rng, s->options.seed);

    int32_t n_candidates = sampling->top_k > 0 && sampling->top_k < vocab ? sampling->top_k : vocab;
    if (sampling->temperature == 0) n_candidates = 1; /* no other can win */
    st = sumi_candidates_init(&s->candidates, n_candidates, err);
    if (st) goto fail;

    s->has_penalties = has_penalties(sampling);
    if (s->has_penalties) st = init_penalties(s, err);
    if (st) goto fail;
    *out = s;
    return SUMI_OK;
fail:
    sumi_sampler_free(s);
    return st;
}

void sumi_sampler_free(sumi_sampler *sampler)
{
    if (!sampler) return;
    sumi_candidates_deinit(&sampler->candidates);
    free(sampler->window.counts);
    free(sampler->window.ring);
    free(sampler->penalised);
    free(sampler);
}

uint64_t sumi_sampler_seed(const sumi_sampler *sampler) { return sampler ? sampler->options.seed : 0; }

int32_t sumi_sampler_vocab(const sumi_sampler *sampler) { return sampler->vocab; }

void sumi_sampler_accept(sumi_sampler *sampler, int32_t token)
{
    /* A token outside the vocabulary has no logit to penalise. */
    if (!sampler || !sampler->has_penalties || token < 0 || token >= sampler->vocab) return;
    push(&sampler->window, token);
}

static int32_t choose(sumi_sampler *s)
{
    const sumi_sampling *o = &s->options;
    sumi_candidates *c = &s->candidates;
    if (o->temperature == 0) return c->best.id;
    if (o->top_p < 1 || o->min_p > 0) sumi_candidates_weigh(c, 1); /* both look at the untempered distribution */
    if (o->top_p < 1) sumi_candidates_keep_top_p(c, o->top_p);
    if (o->min_p > 0) sumi_candidates_keep_min_p(c, o->min_p);
    sumi_candidates_weigh(c, o->temperature);
    return sumi_candidates_draw(c, sumi_rng_uniform(&s->rng));
}

sumi_status sumi_sampler_sample(sumi_sampler *sampler, const float *logits, int32_t *token, sumi_error *err)
{
    if (!sampler || !logits || !token)
        return sumi_fail(err, SUMI_EINVAL, "sampling: sampler, logits or token is NULL");
    sumi_candidates *c = &sampler->candidates;
    sumi_candidates_select(c, apply_penalties(sampler, logits), sampler->vocab);
    if (c->n == 0) return sumi_fail(err, SUMI_ENUMERIC, "sampling: none of %d logits is finite", sampler->vocab);
    if (!isfinite(c->best.logit))
        return sumi_fail(err, SUMI_ENUMERIC, "sampling: the highest of %d logits, token %d, is %g", sampler->vocab,
                         c->best.id, (double)c->best.logit);
    *token = choose(sampler);
    return SUMI_OK;
}
