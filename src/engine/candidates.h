/* The tokens a sampler still considers, and the steps that narrow them down to one.
 *
 * Order: a higher logit comes first; of equal logits, the lower id. Weights are unnormalised probabilities,
 * exp((logit - best logit) / temperature): the best candidate's is exactly 1. Sums of weights are double and are
 * made in a fixed order, and the exponential uses IEEE operations only, so that every machine chooses alike. */
#ifndef SUMI_ENGINE_CANDIDATES_H
#define SUMI_ENGINE_CANDIDATES_H

#include "base/status.h"

typedef struct sumi_candidate {
    int32_t id;
    float logit, weight; /* weight: since the last sumi_candidates_weigh */
} sumi_candidate;

typedef struct sumi_candidates {
    sumi_candidate *storage; /* [capacity], owned */
    sumi_candidate *items;   /* [n] inside storage, in no promised order */
    sumi_candidate best;     /* of the last sumi_candidates_select */
    int32_t n, capacity;
} sumi_candidates;

/* Room for the best `capacity` (> 0) tokens. Errors: SUMI_ENOMEM. */
sumi_status sumi_candidates_init(sumi_candidates *c, int32_t capacity, sumi_error *err);
void sumi_candidates_deinit(sumi_candidates *c); /* accepts all zero */

/* The first `capacity` of [vocab] logits in order. NaN and -inf are never candidates; n is 0 if nothing else is
 * there. */
void sumi_candidates_select(sumi_candidates *c, const float *logits, int32_t vocab);

/* The functions below need at least one candidate and a finite best logit. temperature > 0. */
void sumi_candidates_weigh(sumi_candidates *c, float temperature);

/* Keep the shortest beginning of the order whose weights make up at least top_p of all; at least one candidate. */
void sumi_candidates_keep_top_p(sumi_candidates *c, float top_p);

/* Keep what weighs at least min_p (0 to 1) times the best. */
void sumi_candidates_keep_min_p(sumi_candidates *c, float min_p);

/* The candidate at `position` in [0, 1) of the sum of weights. */
int32_t sumi_candidates_draw(const sumi_candidates *c, double position);

#endif
