/* bench.c - sumi bench: measure tokens per second. How results are printed is bench_report.c. */
#include "bench.h"
#include "commands.h"
#include "output.h"
#include "report.h"
#include "terminal.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct bench_args {
    model_args model;
    const char *prompt_text, *gen_text, *depth_text; /* as given: comma-separated lists */
    int_list n_prompt, n_gen, n_depth;
    int32_t n_repeats;
    bool json;
} bench_args;

static const char about[] =
    "Measures, as llama-bench does: pp N evaluates N tokens in one call, tg N evaluates N\n"
    "tokens one at a time, both after a context of -d tokens. The tokens are random: speed\n"
    "does not depend on them. Each test runs once to warm up, then -r times; the table gives\n"
    "the mean and the standard deviation. Lists such as -p 128,512 make one row each.\n";

static int parse_lists(bench_args *a)
{
    int status = int_list_parse(&a->n_prompt, "bench", "-p", a->prompt_text, 0, 1 << 24);
    if (status == OPTIONS_OK) status = int_list_parse(&a->n_gen, "bench", "-n", a->gen_text, 0, 1 << 24);
    if (status == OPTIONS_OK) status = int_list_parse(&a->n_depth, "bench", "-d", a->depth_text, 0, 1 << 24);
    return status;
}

static int parse(bench_args *a, int argc, char **argv)
{
    cli_option model[MODEL_OPTIONS];
    const cli_option options[] = {
        { .name = "-p",
          .alias = "--n-prompt",
          .argument = "LIST",
          .type = OPTION_STRING,
          .value = &a->prompt_text,
          .help = "prompt lengths; 0 for none" },
        { .name = "-n",
          .alias = "--n-gen",
          .argument = "LIST",
          .type = OPTION_STRING,
          .value = &a->gen_text,
          .help = "numbers of tokens to generate; 0 for none" },
        { .name = "-d",
          .alias = "--n-depth",
          .argument = "LIST",
          .type = OPTION_STRING,
          .value = &a->depth_text,
          .help = "tokens in the context before each test" },
        { .name = "-r",
          .alias = "--repetitions",
          .argument = "N",
          .type = OPTION_INT,
          .value = &a->n_repeats,
          .min = 1,
          .max = BENCH_MAX_REPEATS,
          .help = "measurements per test" },
        { .name = "--json", .type = OPTION_FLAG, .value = &a->json, .help = "print an array of JSON objects" },
    };
    const option_group groups[] = { { "Options", options, sizeof options / sizeof options[0] },
                                    model_option_group(&a->model, model) };
    const option_set set = { "bench", "[-m FILE] [-p LIST] [-n LIST] [-d LIST] [options]", about, groups, 2, 0 };
    const int status = options_parse(&set, argc, argv, NULL);
    return status == OPTIONS_OK ? parse_lists(a) : status;
}

/* ---- Measuring -------------------------------------------------------------------------------------- */

/* Any ids do; a fixed generator (Knuth's MMIX constants) makes runs alike. */
static void fill_random(int32_t *tokens, int32_t n, int32_t vocab)
{
    uint64_t state = 1;
    for (int32_t i = 0; i < n; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        tokens[i] = (int32_t)((state >> 33) % (uint64_t)vocab);
    }
}

/* The part that is timed. */
static sumi_status run_test(open_model *m, const bench_test *t, const int32_t *tokens, sumi_error *err)
{
    if (t->n_prompt > 0) return sumi_session_eval(m->session, tokens, t->n_prompt, SUMI_LOGITS_LAST, err);
    for (int32_t i = 0; i < t->n_gen; i++) {
        if (interrupt_seen()) {
            err->status = SUMI_ECANCELLED;
            return SUMI_ECANCELLED;
        }
        const sumi_status st = sumi_session_eval(m->session, &tokens[i], 1, SUMI_LOGITS_LAST, err);
        if (st) return st;
    }
    return SUMI_OK;
}

static void note_time(char *text, size_t n_bytes)
{
    const time_t now = time(NULL);
    struct tm utc;
    if (!gmtime_r(&now, &utc) || !strftime(text, n_bytes, "%Y-%m-%dT%H:%M:%SZ", &utc)) text[0] = '\0';
}

static int measure(open_model *m, const bench_test *t, int32_t n_repeats, const int32_t *tokens, bench_result *r)
{
    sumi_error err;
    sumi_status st = sumi_session_truncate(m->session, 0, &err);
    if (!st && t->n_depth > 0) st = sumi_session_eval(m->session, tokens, t->n_depth, SUMI_LOGITS_NONE, &err);
    if (!st) st = run_test(m, t, tokens, &err); /* warm-up: caches, page faults, clock speed */
    *r = (bench_result){ .test = *t };
    note_time(r->test_time, sizeof r->test_time);
    for (int32_t i = 0; i < n_repeats && !st; i++) {
        if (interrupt_seen()) return STATUS_INTERRUPTED;
        st = sumi_session_truncate(m->session, t->n_depth, &err);
        const double start = seconds_now();
        if (!st) st = run_test(m, t, tokens, &err);
        r->samples_ns[r->n_samples++] = (int64_t)(1e9 * (seconds_now() - start));
    }
    if (st) return report_error(&err);
    bench_summarize(r);
    return STATUS_OK;
}

/* ---- The list of tests ------------------------------------------------------------------------------ */

static int32_t list_max(const int_list *list)
{
    int32_t max = 0;
    for (int32_t i = 0; i < list->n; i++)
        if (list->items[i] > max) max = list->items[i];
    return max;
}

/* llama-bench's order: every prompt length, then every generation length, for each depth. */
static int32_t list_tests(const bench_args *a, bench_test *tests)
{
    int32_t n = 0;
    for (int32_t d = 0; d < a->n_depth.n; d++) {
        for (int32_t i = 0; i < a->n_prompt.n; i++)
            if (a->n_prompt.items[i] > 0) tests[n++] = (bench_test){ a->n_prompt.items[i], 0, a->n_depth.items[d] };
        for (int32_t i = 0; i < a->n_gen.n; i++)
            if (a->n_gen.items[i] > 0) tests[n++] = (bench_test){ 0, a->n_gen.items[i], a->n_depth.items[d] };
    }
    return n;
}

static int run_tests(const bench_args *a, open_model *m, const bench_test *tests, int32_t n_tests, int32_t *tokens,
                     bench_result *result)
{
    bench_subject subject;
    int status = bench_describe(&subject, m);
    if (!status && !a->json) status = bench_print_head();
    json_t *array = json_array();
    for (int32_t i = 0; i < n_tests && !status; i++) {
        status = measure(m, &tests[i], a->n_repeats, tokens, result);
        if (status) break;
        if (!a->json)
            status = bench_print_row(&subject, result);
        else if (json_array_append_new(array, bench_json(&subject, result)))
            status = report_no_memory();
    }
    if (a->json && !status) return output_json(array, JSON_INDENT(2));
    json_decref(array);
    return status;
}

static int bench(const bench_args *a, open_model *m)
{
    const size_t n_max = (size_t)a->n_depth.n * ((size_t)a->n_prompt.n + (size_t)a->n_gen.n);
    const int32_t longest_p = list_max(&a->n_prompt);
    const int32_t longest_n = list_max(&a->n_gen);
    const int32_t n_ctx = list_max(&a->n_depth) + (longest_p > longest_n ? longest_p : longest_n);
    bench_test *tests = malloc(n_max * sizeof *tests);
    int32_t *tokens = malloc(((size_t)n_ctx + 1) * sizeof *tokens);
    bench_result *result = malloc(sizeof *result);
    int status = tests && tokens && result ? STATUS_OK : report_no_memory();
    const int32_t n_tests = status ? 0 : list_tests(a, tests);
    if (!status && n_tests == 0) status = report_usage("bench: nothing to measure: -p and -n are both 0");
    if (!status) status = model_open(m, &a->model);
    if (!status) status = model_open_session(m, n_ctx, a->model.exact);
    if (!status) {
        fill_random(tokens, n_ctx, m->info.vocab);
        status = run_tests(a, m, tests, n_tests, tokens, result);
    }
    free(result);
    free(tokens);
    free(tests);
    return status;
}

int command_bench(int argc, char **argv)
{
    bench_args a = {
        .model = model_args_defaults(), .prompt_text = "512", .gen_text = "128", .depth_text = "0", .n_repeats = 5
    };
    int status = parse(&a, argc, argv);
    if (status == OPTIONS_OK) {
        interrupt_arm();
        open_model m = { 0 };
        status = bench(&a, &m);
        model_close(&m);
    }
    free(a.n_prompt.items);
    free(a.n_gen.items);
    free(a.n_depth.items);
    return status;
}
