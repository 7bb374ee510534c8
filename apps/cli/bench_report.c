/* bench_report.c - the table and the JSON of `sumi bench`, in llama-bench's form so that the same scripts read both.
 */
#include "bench.h"
#include "output.h"
#include "report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#ifndef SUMI_COMMIT
#define SUMI_COMMIT "unknown"
#endif

/* ---- Numbers ---------------------------------------------------------------------------------------- */

double bench_tokens_per_second(const bench_result *r, int32_t i_sample)
{
    const int32_t n_tokens = r->test.n_prompt + r->test.n_gen;
    return r->samples_ns[i_sample] > 0 ? 1e9 * n_tokens / (double)r->samples_ns[i_sample] : 0;
}

static double standard_deviation(double sum_of_squares, double mean, int32_t n)
{
    if (n < 2) return 0;
    const double variance = (sum_of_squares - n * mean * mean) / (n - 1);
    return variance > 0 ? sqrt(variance) : 0;
}

void bench_summarize(bench_result *r)
{
    double ns = 0, ns_squares = 0, ts = 0, ts_squares = 0;
    for (int32_t i = 0; i < r->n_samples; i++) {
        const double sample_ns = (double)r->samples_ns[i];
        const double sample_ts = bench_tokens_per_second(r, i);
        ns += sample_ns;
        ns_squares += sample_ns * sample_ns;
        ts += sample_ts;
        ts_squares += sample_ts * sample_ts;
    }
    r->avg_ns = ns / r->n_samples;
    r->avg_ts = ts / r->n_samples;
    r->stddev_ns = standard_deviation(ns_squares, r->avg_ns, r->n_samples);
    r->stddev_ts = standard_deviation(ts_squares, r->avg_ts, r->n_samples);
}

/* ---- Subject ---------------------------------------------------------------------------------------- */

static void read_cpu_name(char *name, size_t n_bytes)
{
    snprintf(name, n_bytes, "unknown");
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (!file) return;
    char line[256];
    while (fgets(line, sizeof line, file)) {
        char *value = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !value) continue;
        value[strcspn(value, "\n")] = '\0';
        snprintf(name, n_bytes, "%.*s", (int)n_bytes - 1, value + 1 + strspn(value + 1, " "));
        break;
    }
    fclose(file);
}

static int read_tensor_bytes(const char *path, uint64_t *size_bytes)
{
    sumi_file_info *file = NULL;
    sumi_error err;
    if (sumi_file_info_open(&file, path, &err)) return report_error(&err);
    *size_bytes = 0;
    for (int64_t i = 0; i < sumi_file_info_n_tensors(file); i++) {
        sumi_tensor_info tensor;
        if (sumi_file_info_tensor(file, i, &tensor, &err)) {
            sumi_file_info_close(file);
            return report_error(&err);
        }
        *size_bytes += tensor.n_bytes;
    }
    sumi_file_info_close(file);
    return STATUS_OK;
}

static void format_count(char *text, size_t n_bytes, double count)
{
    if (count >= 1e9)
        snprintf(text, n_bytes, "%.2f B", count / 1e9);
    else
        snprintf(text, n_bytes, "%.2f M", count / 1e6);
}

static void format_bytes(char *text, size_t n_bytes, double bytes)
{
    if (bytes >= 1 << 30)
        snprintf(text, n_bytes, "%.2f GiB", bytes / (1 << 30));
    else
        snprintf(text, n_bytes, "%.2f MiB", bytes / (1 << 20));
}

int bench_describe(bench_subject *s, const open_model *m)
{
    *s = (bench_subject){ .m = m };
    const double n = (double)m->info.n_params;
    snprintf(s->type, sizeof s->type, "%.32s %.3g%s %.32s", m->info.arch, n >= 1e9 ? n / 1e9 : n / 1e6,
             n >= 1e9 ? "B" : "M", m->info.quant);
    const char *device = sumi_device_description(m->device);
    snprintf(s->backend, sizeof s->backend, "%.*s", (int)strcspn(device, ","), device);
    read_cpu_name(s->cpu_info, sizeof s->cpu_info);
    return read_tensor_bytes(m->path, &s->size_bytes);
}

/* ---- Table ------------------------------------------------------------------------------------------ */

int bench_print_head(void)
{
    static const char head[] =
        "| model                          |       size |     params | backend    | threads |            test |"
        "                  t/s |\n"
        "| ------------------------------ | ---------: | ---------: | ---------- | ------: | --------------: |"
        " -------------------: |\n";
    return output_status(output_write(head, sizeof head - 1));
}

static void format_test(char *text, size_t n_bytes, const bench_test *t)
{
    int n = snprintf(text, n_bytes, "%s%d", t->n_prompt ? "pp" : "tg", t->n_prompt ? t->n_prompt : t->n_gen);
    if (t->n_depth > 0) snprintf(text + n, n_bytes - (size_t)n, " @ d%d", t->n_depth);
}

int bench_print_row(const bench_subject *s, const bench_result *r)
{
    char size[32], params[32], test[64], speed[64];
    format_bytes(size, sizeof size, (double)s->size_bytes);
    format_count(params, sizeof params, (double)s->m->info.n_params);
    format_test(test, sizeof test, &r->test);
    /* "±" is two bytes and one column, so the field is one byte wider than the column. */
    snprintf(speed, sizeof speed, "%.2f \xc2\xb1 %.2f", r->avg_ts, r->stddev_ts);

    whole_output line;
    if (!whole_output_begin(&line)) return report_no_memory();
    fprintf(line.stream, "| %-30s | %10s | %10s | %-10s | %7d | %15s | %21s |\n", s->type, size, params, s->backend,
            sumi_device_n_threads(s->m->device), test, speed);
    return whole_output_print(&line);
}

/* ---- JSON ------------------------------------------------------------------------------------------- */

static json_t *samples_json(const bench_result *r, bool as_rate)
{
    json_t *array = json_array();
    for (int32_t i = 0; i < r->n_samples; i++)
        json_array_append_new(array,
                              as_rate ? json_real(bench_tokens_per_second(r, i)) : json_integer(r->samples_ns[i]));
    return array;
}

json_t *bench_json(const bench_subject *s, const bench_result *r)
{
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:i, s:i, s:i, s:i, s:s, s:I, s:I, s:f, s:f, s:o, s:o}",
        "build_commit", SUMI_COMMIT, "build_version", sumi_version(), "cpu_info", s->cpu_info, "backends", s->backend,
        "model_filename", s->m->path, "model_type", s->type, "model_size", (json_int_t)s->size_bytes,
        "model_n_params", (json_int_t)s->m->info.n_params, "n_threads", sumi_device_n_threads(s->m->device),
        "n_prompt", r->test.n_prompt, "n_gen", r->test.n_gen, "n_depth", r->test.n_depth, "test_time", r->test_time,
        "avg_ns", (json_int_t)llround(r->avg_ns), "stddev_ns", (json_int_t)llround(r->stddev_ns), "avg_ts", r->avg_ts,
        "stddev_ts", r->stddev_ts, "samples_ns", samples_json(r, false), "samples_ts", samples_json(r, true));
}
