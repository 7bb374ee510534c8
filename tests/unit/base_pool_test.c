/* Thread pool: every share is worked once, barriers order phases, and neither many threads on few processors
 * nor several callers break that. Run under ThreadSanitizer too: it sees a missing order that no value shows. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "base/pool.h"

enum { MAX_THREADS = 64 };

static sumi_pool *new_pool(int32_t n_threads)
{
    sumi_pool *pool = NULL;
    sumi_error err = { 0 };
    assert_int_equal(sumi_pool_new(&pool, n_threads, &err), SUMI_OK);
    assert_int_equal(sumi_pool_n_threads(pool), n_threads);
    return pool;
}

typedef struct sum_job {
    const int64_t *values;
    int64_t n, grain;
    int64_t partial[MAX_THREADS];
} sum_job;

static void sum_share(void *ctx, int32_t i_thread, int32_t n_threads)
{
    sum_job *job = ctx;
    int64_t begin, end, sum = 0;
    sumi_pool_share(job->n, job->grain, i_thread, n_threads, &begin, &end);
    for (int64_t i = begin; i < end; i++) sum += job->values[i];
    job->partial[i_thread] = sum;
}

static void shares_sum_to_the_whole(void **state)
{
    (void)state;
    static int64_t values[10007];
    int64_t expected = 0;
    for (int64_t i = 0; i < 10007; i++) expected += values[i] = i * i % 1009;
    static const int32_t sizes[] = { 1, 2, 3, 7, 64 };
    for (size_t i_size = 0; i_size < sizeof sizes / sizeof *sizes; i_size++) {
        sumi_pool *pool = new_pool(sizes[i_size]);
        sum_job job = { .values = values, .n = 10007, .grain = 16 };
        sumi_pool_run(pool, sum_share, &job);
        int64_t sum = 0;
        for (int32_t i = 0; i < sizes[i_size]; i++) sum += job.partial[i];
        assert_true(sum == expected);
        sumi_pool_free(pool);
    }
}

static void shares_are_whole_grains_and_tile_the_range(void **state)
{
    (void)state;
    for (int64_t n = 0; n < 100; n++) {
        for (int64_t grain = 1; grain <= 33; grain += 4) {
            for (int32_t n_threads = 1; n_threads <= 9; n_threads++) {
                int64_t expected_begin = 0;
                for (int32_t i = 0; i < n_threads; i++) {
                    int64_t begin, end;
                    sumi_pool_share(n, grain, i, n_threads, &begin, &end);
                    assert_true(begin == expected_begin && end >= begin);
                    assert_true(end % grain == 0 || end == n);
                    expected_begin = end;
                }
                assert_true(expected_begin == n);
            }
        }
    }
}

typedef struct count_job {
    int32_t counts[MAX_THREADS];
    int32_t n_threads;
} count_job;

static void count_call(void *ctx, int32_t i_thread, int32_t n_threads)
{
    count_job *job = ctx;
    job->counts[i_thread]++;
    if (i_thread == 0) job->n_threads = n_threads;
}

static void many_runs_call_every_thread_each_time(void **state)
{
    (void)state;
    enum { RUNS = 20000 };
    sumi_pool *pool = new_pool(3);
    count_job job = { 0 };
    for (int i = 0; i < RUNS; i++) sumi_pool_run(pool, count_call, &job);
    for (int32_t i = 0; i < 3; i++) assert_int_equal(job.counts[i], RUNS);
    assert_int_equal(job.counts[3], 0);
    assert_int_equal(job.n_threads, 3);
    sumi_pool_free(pool);
}

/* The workers are asleep by then: the run must wake them. */
static void a_run_after_a_pause_wakes_the_workers(void **state)
{
    (void)state;
    sumi_pool *pool = new_pool(4);
    count_job job = { 0 };
    for (int i = 0; i < 5; i++) {
        sumi_pool_run(pool, count_call, &job);
        nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
    }
    for (int32_t i = 0; i < 4; i++) assert_int_equal(job.counts[i], 5);
    sumi_pool_free(pool);
}

typedef struct phase_job {
    sumi_pool *pool;
    int32_t n_phases;
    int32_t phase[MAX_THREADS]; /* plain: the barrier alone must order them */
    int32_t n_wrong[MAX_THREADS];
} phase_job;

/* Each thread writes its phase, meets the others, and then must read that phase from all of them. */
static void run_phases(void *ctx, int32_t i_thread, int32_t n_threads)
{
    phase_job *job = ctx;
    for (int32_t phase = 1; phase <= job->n_phases; phase++) {
        job->phase[i_thread] = phase;
        sumi_pool_barrier(job->pool);
        for (int32_t i = 0; i < n_threads; i++)
            if (job->phase[i] != phase) job->n_wrong[i_thread]++;
        sumi_pool_barrier(job->pool);
    }
}

static void check_phases(int32_t n_threads, int32_t n_phases, int32_t n_runs)
{
    sumi_pool *pool = new_pool(n_threads);
    for (int32_t run = 0; run < n_runs; run++) {
        phase_job job = { .pool = pool, .n_phases = n_phases };
        sumi_pool_run(pool, run_phases, &job);
        for (int32_t i = 0; i < n_threads; i++) {
            assert_int_equal(job.phase[i], n_phases);
            assert_int_equal(job.n_wrong[i], 0);
        }
    }
    sumi_pool_free(pool);
}

static void barriers_order_phases(void **state)
{
    (void)state;
    check_phases(1, 100, 1);
    check_phases(2, 2000, 5);
    check_phases(3, 500, 5);
}

static void sixty_four_threads_finish_on_any_machine(void **state)
{
    (void)state;
    check_phases(MAX_THREADS, 50, 2);
}

enum { N_CALLERS = 4, RUNS_PER_CALLER = 200 };

typedef struct shared_job {
    sumi_pool *pool;
    int32_t runs[MAX_THREADS]; /* plain, shared by all callers: only serialised runs keep it right */
    int32_t inside;            /* callers inside their function as thread 0 */
    int32_t n_overlaps;
} shared_job;

static void count_overlaps(void *ctx, int32_t i_thread, int32_t n_threads)
{
    (void)n_threads;
    shared_job *job = ctx;
    if (i_thread == 0 && job->inside++ != 0) job->n_overlaps++;
    sumi_pool_barrier(job->pool);
    job->runs[i_thread]++;
    sumi_pool_barrier(job->pool);
    if (i_thread == 0) job->inside--;
}

static void *call_repeatedly(void *arg)
{
    shared_job *job = arg;
    for (int i = 0; i < RUNS_PER_CALLER; i++) sumi_pool_run(job->pool, count_overlaps, job);
    return NULL;
}

static void callers_are_served_one_after_another(void **state)
{
    (void)state;
    for (int32_t n_threads = 1; n_threads <= 3; n_threads++) {
        shared_job job = { .pool = new_pool(n_threads) };
        pthread_t callers[N_CALLERS];
        for (int i = 0; i < N_CALLERS; i++)
            assert_int_equal(pthread_create(&callers[i], NULL, call_repeatedly, &job), 0);
        for (int i = 0; i < N_CALLERS; i++) assert_int_equal(pthread_join(callers[i], NULL), 0);
        for (int32_t i = 0; i < n_threads; i++) assert_int_equal(job.runs[i], N_CALLERS * RUNS_PER_CALLER);
        assert_int_equal(job.n_overlaps, 0);
        sumi_pool_free(job.pool);
    }
}

static void record_blocked_signals(void *ctx, int32_t i_thread, int32_t n_threads)
{
    (void)n_threads;
    pthread_sigmask(SIG_SETMASK, NULL, &((sigset_t *)ctx)[i_thread]);
}

static void workers_block_signals_and_the_caller_does_not(void **state)
{
    (void)state;
    sigset_t masks[3];
    sumi_pool *pool = new_pool(3);
    sumi_pool_run(pool, record_blocked_signals, masks);
    sumi_pool_free(pool);
    assert_int_equal(sigismember(&masks[0], SIGINT), 0);
    for (int i = 1; i < 3; i++) {
        assert_int_equal(sigismember(&masks[i], SIGINT), 1);
        assert_int_equal(sigismember(&masks[i], SIGTERM), 1);
        assert_int_equal(sigismember(&masks[i], SIGPROF), 1);
    }
}

static int32_t count_tasks(void)
{
    DIR *dir = opendir("/proc/self/task");
    if (!dir) return -1;
    int32_t n = 0;
    while (readdir(dir)) n++;
    closedir(dir);
    return n;
}

static void pause_ms(int32_t ms) { nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000L }, NULL); }

/* The count once it has not changed for a while: entries of joined threads of earlier tests go a little later. */
static int32_t settled_tasks(void)
{
    int32_t n = count_tasks();
    for (int same = 0; same < 10;) {
        pause_ms(5);
        const int32_t now = count_tasks();
        same = now == n ? same + 1 : 0;
        n = now;
    }
    return n;
}

static void no_thread_outlives_the_pool(void **state)
{
    (void)state;
    const int32_t n_before = settled_tasks();
    if (n_before < 0) skip();
    for (int i = 0; i < 20; i++) {
        sumi_pool *pool = new_pool(8);
        assert_int_equal(count_tasks(), n_before + 7);
        if (i % 2) { /* freed unused, and after a run */
            count_job job = { 0 };
            sumi_pool_run(pool, count_call, &job);
        }
        sumi_pool_free(pool);
        assert_int_equal(settled_tasks(), n_before);
    }
}

static void bad_thread_counts_are_refused(void **state)
{
    (void)state;
    static const int32_t bad[] = { 0, -1, 1025, INT32_MAX, INT32_MIN };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char nothing;
        sumi_pool *pool = (sumi_pool *)&nothing;
        sumi_error err = { 0 };
        assert_int_equal(sumi_pool_new(&pool, bad[i], &err), SUMI_EINVAL);
        assert_null(pool);
        assert_int_equal(err.status, SUMI_EINVAL);
    }
    sumi_pool_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_sum_to_the_whole),
        cmocka_unit_test(shares_are_whole_grains_and_tile_the_range),
        cmocka_unit_test(many_runs_call_every_thread_each_time),
        cmocka_unit_test(a_run_after_a_pause_wakes_the_workers),
        cmocka_unit_test(barriers_order_phases),
        cmocka_unit_test(sixty_four_threads_finish_on_any_machine),
        cmocka_unit_test(callers_are_served_one_after_another),
        cmocka_unit_test(workers_block_signals_and_the_caller_does_not),
        cmocka_unit_test(no_thread_outlives_the_pool),
        cmocka_unit_test(bad_thread_counts_are_refused),
    };
    return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
