#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "engine/session.h"

enum { ROWS_AT_A_TIME = 64 };

/* -log softmax(logits)[token], in double. */
static double negative_log_likelihood(const float *logits, int32_t vocab, int32_t token)
{
    double max = -INFINITY, sum = 0;
    for (int32_t i = 0; i < vocab; i++)
        if (logits[i] > max) max = logits[i];
    for (int32_t i = 0; i < vocab; i++) sum += exp(logits[i] - max);
    return max + log(sum > 1 ? sum : 1) - logits[token]; /* the largest contributes exp(0) = 1 */
}

typedef struct score {
    double sum, sum_of_squares;
    int64_t n;
} score;

/* The second half of a window: row j predicts token j + 1. */
static sumi_status score_window(sumi_session *s, const int32_t *tokens, int32_t n_window, score *total,
                                sumi_error *err)
{
    const int32_t first = n_window / 2, vocab = s->model->config.vocab;
    sumi_status st = sumi_session_truncate(s, 0, err);
    if (st == SUMI_OK) st = sumi_session_append(s, tokens, first, SUMI_LOGITS_NONE, NULL, NULL, err);
    for (int32_t at = first; st == SUMI_OK && at < n_window - 1; at += ROWS_AT_A_TIME) {
        const int32_t n = n_window - 1 - at < ROWS_AT_A_TIME ? n_window - 1 - at : ROWS_AT_A_TIME;
        st = sumi_session_append(s, tokens + at, n, SUMI_LOGITS_ALL, NULL, NULL, err);
        for (int32_t j = 0; st == SUMI_OK && j < n; j++) {
            const double nll = negative_log_likelihood(sumi_session_logits(s, j), vocab, tokens[at + j + 1]);
            total->sum += nll;
            total->sum_of_squares += nll * nll;
            total->n++;
        }
    }
    return st;
}

static sumi_status check(const sumi_session *s, const int32_t *tokens, int64_t n_tokens, int32_t window,
                         sumi_error *err)
{
    if (!s || !tokens) return sumi_fail(err, SUMI_EINVAL, "perplexity: %s is NULL", s ? "tokens" : "session");
    if (window < 4 || window > s->max_tokens)
        return sumi_fail(err, SUMI_EINVAL,
                         "perplexity: windows of %" PRId32 " tokens, must be 4 to the context of %" PRId32, window,
                         s->max_tokens);
    if (n_tokens < 2 * (int64_t)window)
        return sumi_fail(err, SUMI_EINVAL, "perplexity: %" PRId64 " tokens, two windows of %" PRId32 " need %" PRId64,
                         n_tokens, window, 2 * (int64_t)window);
    return SUMI_OK;
}

sumi_status sumi_perplexity_eval(sumi_session *session, const int32_t *tokens, int64_t n_tokens,
                                 int32_t window_tokens, sumi_progress_fn *progress, void *user, sumi_perplexity *out,
                                 sumi_error *err)
{
    sumi_status st = check(session, tokens, n_tokens, window_tokens, err);
    if (st) return st;
    if (!out) return sumi_fail(err, SUMI_EINVAL, "perplexity: out is NULL");
    const int64_t n_windows = n_tokens / window_tokens;
    score total = { 0 };
    for (int64_t w = 0; w < n_windows; w++) {
        if ((st = score_window(session, tokens + w * window_tokens, window_tokens, &total, err))) return st;
        if (progress && !progress(user, (uint64_t)(w + 1), (uint64_t)n_windows))
            return sumi_fail(err, SUMI_ECANCELLED, "perplexity: cancelled after window %" PRId64 " of %" PRId64,
                             w + 1, n_windows);
    }
    const double n = (double)total.n, mean = total.sum / n, variance = total.sum_of_squares / n - mean * mean;
    out->mean_nll = mean;
    out->perplexity = exp(mean);
    out->stderr_perplexity = n > 1 && variance > 0 ? exp(mean) * sqrt(variance / (n - 1)) : 0;
    out->n_scored = total.n;
    out->n_windows = (int32_t)n_windows;
    return SUMI_OK;
}
