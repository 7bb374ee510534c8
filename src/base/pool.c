/* The pool is three things: workers that wait for a run, a count of those still busy with it, and a barrier
 * for use inside it. All waiting goes through one primitive, the gate; start reading there.
 *
 * Order of a run: the caller writes fn and ctx, opens `start`, works as thread 0, then waits at `done`, which
 * the last worker opens. Workers go straight back to `start`, so a run costs two cache-line round trips. */
#include "base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    MAX_THREADS = 1024,
    CACHE_LINE_BYTES = 64,
    STACK_BYTES = 1 << 20, /* of a worker; the C library's own default is anything from 128 KiB to 8 MiB */
    PAUSES_PER_CLOCK = 32, /* a pause is 10 to 140 cycles, a clock reading about 60 */
    YIELDS_CROWDED = 4     /* yields before sleep when there are more threads than processors */
};

/* Most waits inside a pass end within SPIN_NS: shares of an operation are equal. YIELD_NS covers the sampling
 * between two passes of one sequence, so that workers of a busy model never pay the tens of microseconds of
 * a wake-up; after it they sleep and an idle model costs nothing. */
#define SPIN_NS INT64_C(20000)
#define YIELD_NS INT64_C(1000000)

/* A number that only grows; threads wait for it to leave a value they have seen. */
typedef struct gate {
    alignas(CACHE_LINE_BYTES) _Atomic uint32_t epoch;
    alignas(CACHE_LINE_BYTES) _Atomic int32_t n_sleepers;
    pthread_mutex_t mutex;
    pthread_cond_t opened;
} gate;

typedef struct worker {
    sumi_pool *pool;
    pthread_t thread;
    int32_t i_thread;
} worker;

struct sumi_pool {
    gate start, done, barrier;
    alignas(CACHE_LINE_BYTES) _Atomic int32_t n_arrived; /* at the barrier */
    alignas(CACHE_LINE_BYTES) _Atomic int32_t n_working; /* workers that have not finished this run */

    /* Written by the caller of a run before it opens `start`, read by workers after. */
    alignas(CACHE_LINE_BYTES) sumi_pool_fn *fn;
    void *ctx;
    bool stopping;

    int32_t n_threads;
    int32_t n_started; /* threads to join; below n_threads - 1 only while new() fails */
    bool is_crowded;   /* more threads than processors: spinning would only delay the thread waited for */
    pthread_mutex_t run_mutex;
    worker workers[];
};

static void cpu_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory"); /* "yield" is a no-op on most cores; isb waits some tens of cycles */
#endif
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void gate_init(gate *g)
{
    atomic_init(&g->epoch, 0);
    atomic_init(&g->n_sleepers, 0);
    pthread_mutex_init(&g->mutex, NULL);
    pthread_cond_init(&g->opened, NULL);
}

static void gate_deinit(gate *g)
{
    pthread_cond_destroy(&g->opened);
    pthread_mutex_destroy(&g->mutex);
}

static bool gate_is_open(gate *g, uint32_t seen)
{
    return atomic_load_explicit(&g->epoch, memory_order_acquire) != seen;
}

static void gate_open(gate *g)
{
    /* Sequentially consistent on both sides: either this load sees the sleeper, or the sleeper's load of the
     * epoch sees the new one. The lock covers the step between the sleeper's check and its wait. */
    atomic_fetch_add(&g->epoch, 1);
    if (atomic_load(&g->n_sleepers) == 0) return;
    pthread_mutex_lock(&g->mutex);
    pthread_cond_broadcast(&g->opened);
    pthread_mutex_unlock(&g->mutex);
}

static void gate_sleep(gate *g, uint32_t seen)
{
    pthread_mutex_lock(&g->mutex);
    atomic_fetch_add(&g->n_sleepers, 1);
    while (atomic_load(&g->epoch) == seen) pthread_cond_wait(&g->opened, &g->mutex);
    atomic_fetch_sub(&g->n_sleepers, 1);
    pthread_mutex_unlock(&g->mutex);
}

/* Poll the gate for up to YIELD_NS; true if it opened. */
static bool gate_spin(gate *g, uint32_t seen)
{
    const int64_t begin_ns = now_ns();
    int64_t waited_ns = 0;
    while (waited_ns < SPIN_NS) {
        for (int i = 0; i < PAUSES_PER_CLOCK; i++) {
            if (gate_is_open(g, seen)) return true;
            cpu_pause();
        }
        waited_ns = now_ns() - begin_ns;
    }
    while (waited_ns < YIELD_NS) {
        if (gate_is_open(g, seen)) return true;
        sched_yield();
        waited_ns = now_ns() - begin_ns;
    }
    return gate_is_open(g, seen);
}

static void gate_wait(gate *g, uint32_t seen, bool is_crowded)
{
    if (is_crowded) {
        for (int i = 0; i < YIELDS_CROWDED; i++) {
            if (gate_is_open(g, seen)) return;
            sched_yield();
        }
    } else if (gate_spin(g, seen)) {
        return;
    }
    gate_sleep(g, seen);
}

static void *worker_main(void *arg)
{
    const worker *w = arg;
    sumi_pool *pool = w->pool;
    for (uint32_t n_runs = 0;; n_runs++) { /* the start gate opens once a run */
        gate_wait(&pool->start, n_runs, pool->is_crowded);
        if (pool->stopping) return NULL;
        pool->fn(pool->ctx, w->i_thread, pool->n_threads);
        if (atomic_fetch_sub_explicit(&pool->n_working, 1, memory_order_acq_rel) == 1) gate_open(&pool->done);
    }
}

/* Start the workers with every signal blocked: handlers belong to the threads of the program. */
static int start_workers(sumi_pool *pool)
{
    pthread_attr_t attr;
    int error = pthread_attr_init(&attr);
    if (error) return error;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_attr_setstacksize(&attr, STACK_BYTES);
    while (!error && pool->n_started < pool->n_threads - 1) {
        worker *w = &pool->workers[pool->n_started];
        w->pool = pool;
        w->i_thread = pool->n_started + 1;
        error = pthread_create(&w->thread, &attr, worker_main, w);
        if (!error) pool->n_started++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return error;
}

sumi_status sumi_pool_new(sumi_pool **out, int32_t n_threads, sumi_error *err)
{
    *out = NULL;
    if (n_threads < 1 || n_threads > MAX_THREADS)
        return sumi_fail(err, SUMI_EINVAL, "thread pool: %d threads, expected 1 to %d", n_threads, MAX_THREADS);
    size_t size_bytes = sizeof(sumi_pool) + (size_t)(n_threads - 1) * sizeof(worker);
    size_bytes = (size_bytes + CACHE_LINE_BYTES - 1) / CACHE_LINE_BYTES * CACHE_LINE_BYTES;
    sumi_pool *pool = aligned_alloc(CACHE_LINE_BYTES, size_bytes);
    if (!pool) return sumi_fail(err, SUMI_ENOMEM, "thread pool: %zu bytes", size_bytes);
    memset(pool, 0, size_bytes);
    pool->n_threads = n_threads;
    pool->is_crowded = n_threads > sysconf(_SC_NPROCESSORS_ONLN);
    gate_init(&pool->start);
    gate_init(&pool->done);
    gate_init(&pool->barrier);
    atomic_init(&pool->n_arrived, 0);
    atomic_init(&pool->n_working, 0);
    pthread_mutex_init(&pool->run_mutex, NULL);
    const int error = start_workers(pool);
    if (error) {
        const sumi_status status = sumi_fail(err, SUMI_ENOMEM, "thread pool: cannot start thread %d of %d: %s",
                                             pool->n_started + 1, n_threads - 1, strerror(error));
        sumi_pool_free(pool);
        return status;
    }
    *out = pool;
    return SUMI_OK;
}

void sumi_pool_free(sumi_pool *pool)
{
    if (!pool) return;
    pool->stopping = true;
    gate_open(&pool->start);
    for (int32_t i = 0; i < pool->n_started; i++) pthread_join(pool->workers[i].thread, NULL);
    pthread_mutex_destroy(&pool->run_mutex);
    gate_deinit(&pool->barrier);
    gate_deinit(&pool->done);
    gate_deinit(&pool->start);
    free(pool);
}

int32_t sumi_pool_n_threads(const sumi_pool *pool) { return pool->n_threads; }

void sumi_pool_run(sumi_pool *pool, sumi_pool_fn *fn, void *ctx)
{
    pthread_mutex_lock(&pool->run_mutex);
    if (pool->n_threads > 1) {
        const uint32_t n_done = atomic_load_explicit(&pool->done.epoch, memory_order_relaxed);
        pool->fn = fn;
        pool->ctx = ctx;
        atomic_store_explicit(&pool->n_working, pool->n_threads - 1, memory_order_relaxed);
        gate_open(&pool->start);
        fn(ctx, 0, pool->n_threads);
        gate_wait(&pool->done, n_done, pool->is_crowded);
    } else {
        fn(ctx, 0, 1);
    }
    pthread_mutex_unlock(&pool->run_mutex);
}

void sumi_pool_barrier(sumi_pool *pool)
{
    /* Read before arriving: the epoch cannot move until this thread, too, has arrived. */
    const uint32_t seen = atomic_load_explicit(&pool->barrier.epoch, memory_order_relaxed);
    const int32_t n_before = atomic_fetch_add_explicit(&pool->n_arrived, 1, memory_order_acq_rel);
    if (n_before + 1 < pool->n_threads) {
        gate_wait(&pool->barrier, seen, pool->is_crowded);
    } else {
        atomic_store_explicit(&pool->n_arrived, 0, memory_order_relaxed);
        gate_open(&pool->barrier);
    }
}
