/* logits.c - sumi logits: the numbers a model gives, for comparing engines. */
#include "commands.h"
#include "model_open.h"
#include "output.h"
#include "report.h"
#include "terminal.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK_TOKENS = 64 }; /* rows kept at once with --all; the result does not depend on it */

typedef struct logits_args {
    model_args model;
    const char *tokens, *output_path;
    bool all;
} logits_args;

static const char about[] = "Evaluates the tokens and writes the logits after the last one (--all: after each)\n"
                            "as little-endian float32, one row of the vocabulary's size per token.\n";

static int parse(logits_args *a, int argc, char **argv)
{
    cli_option model[MODEL_OPTIONS];
    const cli_option options[] = {
        { .name = "--tokens",
          .argument = "IDS",
          .type = OPTION_STRING,
          .value = &a->tokens,
          .help = "token ids, 1,2,3" },
        { .name = "--all", .type = OPTION_FLAG, .value = &a->all, .help = "a row for every token" },
        { .name = "-o",
          .alias = "--output",
          .argument = "FILE",
          .type = OPTION_STRING,
          .value = &a->output_path,
          .default_text = "stdout, unless it is a terminal",
          .help = "write to a file" },
    };
    const option_group groups[] = { { "Options", options, sizeof options / sizeof options[0] },
                                    model_option_group(&a->model, model) };
    const option_set set = { "logits", "[-m FILE] --tokens IDS [-o FILE] [options]", about, groups, 2, 0 };
    const int status = options_parse(&set, argc, argv, NULL);
    if (status != OPTIONS_OK) return status;
    if (!a->tokens) return report_usage("logits: no tokens: give --tokens 1,2,3");
    if (!a->output_path && terminal_is_stdout())
        return report_usage("logits: will not write binary numbers to a terminal: give -o FILE");
    return OPTIONS_OK;
}

static void write_little_endian(FILE *out, const float *row, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &row[i], sizeof bits);
        const unsigned char bytes[4] = { (unsigned char)bits, (unsigned char)(bits >> 8), (unsigned char)(bits >> 16),
                                         (unsigned char)(bits >> 24) };
        fwrite(bytes, 1, sizeof bytes, out); /* a failure stays in the stream; staged_file_commit reports it */
    }
}

static int evaluate(open_model *m, const int_list *tokens, bool all, FILE *out)
{
    for (int32_t first = 0; first < tokens->n; first += CHUNK_TOKENS) {
        const int32_t left = tokens->n - first;
        const int32_t n = left < CHUNK_TOKENS ? left : CHUNK_TOKENS;
        const sumi_logits_rows rows = all ? SUMI_LOGITS_ALL : n == left ? SUMI_LOGITS_LAST : SUMI_LOGITS_NONE;
        sumi_error err;
        if (sumi_session_eval(m->session, tokens->items + first, n, rows, &err)) return report_error(&err);
        const int32_t n_rows = all ? n : n == left;
        for (int32_t i = 0; i < n_rows; i++)
            write_little_endian(out, sumi_session_logits(m->session, i), m->info.vocab);
    }
    return STATUS_OK;
}

static int write_logits(const logits_args *a, open_model *m, const int_list *tokens)
{
    int status = model_open(m, &a->model);
    if (!status) status = model_open_session(m, tokens->n, a->model.exact);
    if (status) return status;
    staged_file file;
    status = staged_file_begin(&file, a->output_path);
    if (status) return status;
    status = evaluate(m, tokens, a->all, file.stream);
    if (!status) return staged_file_commit(&file);
    staged_file_discard(&file);
    return status;
}

int command_logits(int argc, char **argv)
{
    logits_args a = { .model = model_args_defaults() };
    int status = parse(&a, argc, argv);
    if (status != OPTIONS_OK) return status;
    int_list tokens;
    status = int_list_parse(&tokens, "logits", "--tokens", a.tokens, 0, INT32_MAX);
    if (status != OPTIONS_OK) return status;
    open_model m = { 0 };
    status = write_logits(&a, &m, &tokens);
    model_close(&m);
    free(tokens.items);
    return status;
}
