/* perplexity.c - sumi perplexity: how well a model predicts a text. */
#include "commands.h"
#include "input.h"
#include "model_open.h"
#include "output.h"
#include "report.h"
#include "terminal.h"

#include <inttypes.h>
#include <string.h>

typedef struct perplexity_args {
    model_args model;
    const char *text_path;
    int32_t window_tokens;
    bool json;
} perplexity_args;

static const char about[] = "Cuts the text into windows of -c tokens, evaluates each on its own and scores its\n"
                            "second half, as llama-perplexity does. Lower is better.\n";

static int parse(perplexity_args *a, int argc, char **argv)
{
    cli_option model[MODEL_OPTIONS];
    const cli_option options[] = {
        { .name = "-f",
          .alias = "--file",
          .argument = "FILE",
          .type = OPTION_STRING,
          .value = &a->text_path,
          .help = "the text; - is stdin, also the default when something is piped in" },
        { .name = "-c",
          .alias = "--ctx-size",
          .argument = "N",
          .type = OPTION_INT,
          .value = &a->window_tokens,
          .min = 4,
          .max = INT32_MAX,
          .help = "tokens per window" },
        { .name = "--json", .type = OPTION_FLAG, .value = &a->json, .help = "print a JSON object" },
    };
    const option_group groups[] = { { "Options", options, sizeof options / sizeof options[0] },
                                    model_option_group(&a->model, model) };
    const option_set set = { "perplexity", "[-m FILE] -f FILE [options]", about, groups, 2, 0 };
    return options_parse(&set, argc, argv, NULL);
}

static int print_result(const perplexity_args *a, const sumi_perplexity *p)
{
    if (a->json)
        return output_json(json_pack("{s:f, s:f, s:f, s:I, s:i, s:i}", "perplexity", p->perplexity,
                                     "stderr_perplexity", p->stderr_perplexity, "mean_nll", p->mean_nll, "n_scored",
                                     (json_int_t)p->n_scored, "n_windows", p->n_windows, "window_tokens",
                                     a->window_tokens),
                           JSON_INDENT(2));
    whole_output text;
    if (!whole_output_begin(&text)) return report_no_memory();
    fprintf(text.stream, "perplexity %.4f +/- %.4f (%" PRId64 " tokens scored, %d windows of %d)\n", p->perplexity,
            p->stderr_perplexity, p->n_scored, p->n_windows, a->window_tokens);
    return whole_output_print(&text);
}

static int score(const perplexity_args *a, open_model *m, const input_text *text)
{
    int status = model_open(m, &a->model);
    if (!status) status = model_open_session(m, a->window_tokens, a->model.exact);
    if (status) return status;

    sumi_token_list tokens = { 0 };
    sumi_error err;
    if (sumi_tokenize(m->model, text->bytes, text->n_bytes, false, &tokens, &err)) return report_error(&err);
    sumi_perplexity result;
    progress_bar bar = progress_begin("scoring");
    const sumi_status st = sumi_perplexity_eval(m->session, tokens.ids, tokens.n, a->window_tokens, progress_update,
                                                &bar, &result, &err);
    progress_end(&bar);
    sumi_token_list_free(&tokens);
    return st ? report_error(&err) : print_result(a, &result);
}

int command_perplexity(int argc, char **argv)
{
    perplexity_args a = { .model = model_args_defaults(), .window_tokens = 512 };
    int status = parse(&a, argc, argv);
    if (status != OPTIONS_OK) return status;
    input_text text;
    status = input_read(&text, NULL, a.text_path, "perplexity", "give -f FILE or pipe it in");
    if (status) return status;
    interrupt_arm();
    open_model m = { 0 };
    status = score(&a, &m, &text);
    model_close(&m);
    input_free(&text);
    return status;
}
