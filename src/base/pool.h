/* Thread pool for passes of short operations: every thread runs the same function and meets the others at
 * barriers. A waiting thread spins briefly, then yields, then sleeps, so that over-subscription slows a pass
 * down but never stalls it. */
#ifndef SUMI_BASE_POOL_H
#define SUMI_BASE_POOL_H

#include "base/status.h"

typedef struct sumi_pool sumi_pool;

/* n_threads >= 1, the calling thread included: n_threads - 1 are started.
 * Errors: SUMI_EINVAL (n_threads < 1 or > 1024), SUMI_ENOMEM. */
sumi_status sumi_pool_new(sumi_pool **out, int32_t n_threads, sumi_error *err);
void sumi_pool_free(sumi_pool *pool);
int32_t sumi_pool_n_threads(const sumi_pool *pool);

typedef void sumi_pool_fn(void *ctx, int32_t i_thread, int32_t n_threads);

/* Run fn(ctx, i, n) on all threads, i = 0 in the caller; returns when all have returned. Calls from several
 * threads are served one after another; a call from inside fn on the same pool never returns. */
void sumi_pool_run(sumi_pool *pool, sumi_pool_fn *fn, void *ctx);

/* Inside fn only: wait until every thread of the pool has arrived. All earlier writes are visible after. */
void sumi_pool_barrier(sumi_pool *pool);

/* Share of n items for thread i of n_threads, in whole multiples of `grain` except the last: [*begin, *end). */
static inline void sumi_pool_share(int64_t n, int64_t grain, int32_t i_thread, int32_t n_threads, int64_t *begin,
                                   int64_t *end)
{
    const int64_t n_grains = (n + grain - 1) / grain;
    *begin = n_grains * i_thread / n_threads * grain;
    *end = n_grains * (i_thread + 1) / n_threads * grain;
    if (*begin > n) *begin = n;
    if (*end > n) *end = n;
}

#endif
