/* bench.h - what the measuring and the printing half of `sumi bench` share. */
#ifndef SUMI_CLI_BENCH_H
#define SUMI_CLI_BENCH_H

#include "model_open.h"

#include <jansson.h>

/* One row of the table: n_prompt tokens in one call, or n_gen tokens one at a time, after n_depth tokens. */
typedef struct bench_test {
    int32_t n_prompt, n_gen, n_depth;
} bench_test;

enum { BENCH_MAX_REPEATS = 1000 };

typedef struct bench_result {
    bench_test test;
    int32_t n_samples;
    int64_t samples_ns[BENCH_MAX_REPEATS];
    double avg_ns, stddev_ns; /* stddev: of the sample, 0 for one */
    double avg_ts, stddev_ts; /* tokens per second, the mean of the samples' rates */
    char test_time[32];       /* UTC, ISO 8601 */
} bench_result;

/* The averages, from samples_ns. */
void bench_summarize(bench_result *result);
double bench_tokens_per_second(const bench_result *result, int32_t i_sample);

/* What is the same in every row. */
typedef struct bench_subject {
    const open_model *m;
    char type[96];       /* "qwen3 40M Q1_0" */
    char backend[32];    /* "cpu avx2" */
    char cpu_info[96];   /* the processor's name */
    uint64_t size_bytes; /* of the tensors in the file */
} bench_subject;

/* Returns the exit status. */
int bench_describe(bench_subject *subject, const open_model *m);

/* One table row per call, after the head; returns the exit status. */
int bench_print_head(void);
int bench_print_row(const bench_subject *subject, const bench_result *result);

/* llama-bench's field names; NULL when out of memory. */
json_t *bench_json(const bench_subject *subject, const bench_result *result);

#endif
