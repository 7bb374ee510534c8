/* model_open.c - find and load the model a command works with. */
#include "model_open.h"
#include "report.h"
#include "terminal.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEMO_MODEL "sumi-tales-40m-q1_0.gguf"

/* Both are set by the build. */
#ifndef SUMI_INSTALLED_MODELS
#define SUMI_INSTALLED_MODELS "/usr/local/share/sumi"
#endif
#ifndef SUMI_SOURCE_MODELS
#define SUMI_SOURCE_MODELS "models"
#endif

enum { CONTEXT_DEFAULT_MAX = 4096 }; /* large models name contexts whose cache alone would fill the memory */

model_args model_args_defaults(void) { return (model_args){ .device = "cpu" }; }

cli_option model_path_option(const char **path)
{
    return (cli_option){ .name = "-m",
                         .alias = "--model",
                         .argument = "FILE",
                         .type = OPTION_STRING,
                         .value = path,
                         .default_text = "the demonstration model",
                         .help = "GGUF file of the model" };
}

option_group model_option_group(model_args *args, cli_option table[MODEL_OPTIONS])
{
    const cli_option options[MODEL_OPTIONS] = {
        model_path_option(&args->path),
        { .name = "-t",
          .alias = "--threads",
          .argument = "N",
          .type = OPTION_INT,
          .value = &args->n_threads,
          .min = 0,
          .max = 1024,
          .default_text = "0, one per core this process may use",
          .help = "threads" },
        { .name = "--exact",
          .type = OPTION_FLAG,
          .value = &args->exact,
          .help = "float32 activations and cache instead of int8 and fp16: slower, the reference's numbers" },
        { .name = "--isa",
          .argument = "NAME",
          .type = OPTION_CHOICE,
          .value = &args->isa,
          .choices = "scalar|avx2|avx512|neon",
          .default_text = "the best this CPU has",
          .help = "instruction set of the kernels" },
        { .name = "--device",
          .argument = "NAME",
          .type = OPTION_CHOICE,
          .value = &args->device,
          .choices = "cpu",
          .help = "where the model runs" },
    };
    memcpy(table, options, sizeof options);
    return (option_group){ "Model", table, MODEL_OPTIONS };
}

cli_option context_option(int32_t *n_ctx)
{
    return (cli_option){ .name = "-c",
                         .alias = "--ctx-size",
                         .argument = "N",
                         .type = OPTION_INT,
                         .value = n_ctx,
                         .min = 0,
                         .max = INT32_MAX,
                         .default_text = "the model's, at most 4096",
                         .help = "context in tokens; 0 is all the model was made for" };
}

/* ---- The file --------------------------------------------------------------------------------------- */

/* The folder of the running program without its final slash; empty when the system does not tell. */
static void program_folder(char folder[PATH_MAX])
{
    const ssize_t n = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    folder[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(folder, '/');
    if (slash) *slash = '\0';
}

/* Is the demonstration model in folder/below? Every place looked at is added to `looked`. */
static char *try_folder(const char *folder, const char *below, FILE *looked)
{
    char path[2 * PATH_MAX];
    const int n = snprintf(path, sizeof path, "%s%s/%s", folder, below, DEMO_MODEL);
    if (n < 0 || (size_t)n >= sizeof path) return NULL;
    if (!access(path, R_OK)) return strdup(path);
    fprintf(looked, "%s%s%s", ftell(looked) > 0 ? ", " : "", folder, below);
    return NULL;
}

static char *find_demo_model(FILE *looked)
{
    char program[PATH_MAX];
    program_folder(program);
    char *path = NULL;
    if (program[0]) {
        path = try_folder(program, "", looked);
        if (!path) path = try_folder(program, "/../models", looked);
        if (!path) path = try_folder(program, "/../share/sumi", looked);
    }
    if (!path) path = try_folder(SUMI_INSTALLED_MODELS, "", looked);
    if (!path) path = try_folder(SUMI_SOURCE_MODELS, "", looked);
    return path;
}

int model_find(const char *given, char **path)
{
    if (given) {
        *path = strdup(given);
        return *path ? STATUS_OK : report_no_memory();
    }
    char *places = NULL;
    size_t n_bytes = 0;
    FILE *looked = open_memstream(&places, &n_bytes);
    if (!looked) return report_no_memory();
    *path = find_demo_model(looked);
    fclose(looked);
    int status = STATUS_OK;
    if (!*path) status = report_failure("no model: give -m FILE (looked for %s in %s)", DEMO_MODEL, places);
    free(places);
    return status;
}

/* ---- Loading ---------------------------------------------------------------------------------------- */

static int load(open_model *m)
{
    progress_bar bar = progress_begin("loading");
    sumi_model_options options = sumi_model_defaults();
    options.progress = progress_update;
    options.progress_user = &bar;
    sumi_error err;
    const sumi_status st = sumi_model_load(&m->model, m->path, m->device, &options, &err);
    progress_end(&bar);
    if (st) return report_error(&err);
    sumi_model_get_info(m->model, &m->info);
    return STATUS_OK;
}

int model_open(open_model *m, const model_args *args)
{
    *m = (open_model){ 0 };
    const int status = model_find(args->path, &m->path);
    if (status) return status;
    sumi_device_options options = sumi_device_defaults();
    options.n_threads = args->n_threads;
    options.isa = args->isa;
    sumi_error err;
    if (sumi_device_open(&m->device, args->device, &options, &err)) return report_error(&err);
    return load(m);
}

int model_open_session(open_model *m, int32_t n_ctx, bool exact)
{
    sumi_session_options options = sumi_session_defaults();
    options.exact = exact;
    options.max_tokens = n_ctx;
    if (n_ctx == CONTEXT_DEFAULT)
        options.max_tokens = m->info.max_tokens < CONTEXT_DEFAULT_MAX ? m->info.max_tokens : CONTEXT_DEFAULT_MAX;
    sumi_error err;
    return sumi_session_new(&m->session, m->model, &options, &err) ? report_error(&err) : STATUS_OK;
}

void model_close(open_model *m)
{
    sumi_session_free(m->session);
    sumi_model_free(m->model);
    sumi_device_free(m->device);
    free(m->path);
    *m = (open_model){ 0 };
}
