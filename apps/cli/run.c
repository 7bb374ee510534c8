/* run.c - sumi run: continue a text, or answer one question with --chat. */
#include "commands.h"
#include "generation.h"
#include "input.h"
#include "report.h"
#include "terminal.h"

#include <string.h>

typedef struct run_args {
    model_args model;
    sumi_sampling sampling;
    const char *prompt, *prompt_path, *system;
    string_list stop;
    int32_t n_ctx, n_new;
    bool chat, no_echo, ignore_eog, special;
} run_args;

static const char about[] = "Continues the prompt and prints both as they come, like a story. The prompt is -p,\n"
                            "the file -f, or what is piped in; one final newline of a file or pipe is dropped.\n"
                            "With --chat the prompt is a user's turn, and only the answer is printed.\n"
                            "Text goes to stdout, everything else to stderr. Ctrl-C ends the text cleanly with\n"
                            "exit status 130; a second Ctrl-C ends at once.\n";

static int parse(run_args *a, int argc, char **argv)
{
    cli_option model[MODEL_OPTIONS], sampling[SAMPLING_OPTIONS];
    const cli_option text[] = {
        { .name = "-p",
          .alias = "--prompt",
          .argument = "TEXT",
          .type = OPTION_STRING,
          .value = &a->prompt,
          .help = "the prompt; - reads it from stdin" },
        { .name = "-f",
          .alias = "--file",
          .argument = "FILE",
          .type = OPTION_STRING,
          .value = &a->prompt_path,
          .help = "read the prompt from a file" },
        { .name = "-n",
          .alias = "--n-predict",
          .argument = "N",
          .type = OPTION_INT,
          .value = &a->n_new,
          .min = -1,
          .max = INT32_MAX,
          .default_text = "-1, to the end of the text or context",
          .help = "tokens to generate" },
        context_option(&a->n_ctx),
        { .name = "--chat",
          .type = OPTION_FLAG,
          .value = &a->chat,
          .help = "put the prompt into the model's chat template as a user's turn" },
        { .name = "--system",
          .argument = "TEXT",
          .type = OPTION_STRING,
          .value = &a->system,
          .help = "system message, with --chat" },
        { .name = "--stop",
          .argument = "TEXT",
          .type = OPTION_STRINGS,
          .value = &a->stop,
          .help = "end before this text; may be given several times" },
        { .name = "--no-echo", .type = OPTION_FLAG, .value = &a->no_echo, .help = "do not print the prompt" },
        { .name = "--ignore-eos",
          .type = OPTION_FLAG,
          .value = &a->ignore_eog,
          .help = "go on when the model ends its text" },
        { .name = "--special",
          .type = OPTION_FLAG,
          .value = &a->special,
          .help = "control tokens: read them in the prompt and show them in the answer" },
    };
    const option_group groups[] = { { "Text", text, sizeof text / sizeof text[0] },
                                    model_option_group(&a->model, model),
                                    sampling_option_group(&a->sampling, sampling) };
    const option_set set = { "run", "[-m FILE] [-p TEXT | -f FILE] [options]", about, groups, 3, 0 };
    const int status = options_parse(&set, argc, argv, NULL);
    if (status != OPTIONS_OK) return status;
    if (a->system && !a->chat) return report_usage("run: --system needs --chat");
    return OPTIONS_OK;
}

static int prompt_tokens(const run_args *a, const open_model *m, const input_text *prompt, sumi_token_list *tokens)
{
    sumi_error err;
    sumi_status st;
    if (a->chat) {
        sumi_message messages[2];
        int32_t n = 0;
        if (strlen(prompt->bytes) != prompt->n_bytes)
            return report_failure("run: the prompt holds a NUL byte, which a chat message cannot");
        if (a->system) messages[n++] = (sumi_message){ "system", a->system };
        messages[n++] = (sumi_message){ "user", prompt->bytes };
        st = sumi_chat_tokens(m->model, messages, n, tokens, &err);
    } else {
        st = sumi_tokenize(m->model, prompt->bytes, prompt->n_bytes, a->special, tokens, &err);
    }
    if (st) return report_error(&err);
    if (tokens->n <= INT32_MAX) return STATUS_OK;
    sumi_token_list_free(tokens);
    return report_failure("run: the prompt has more than %d tokens", INT32_MAX);
}

static int generate(const run_args *a, open_model *m, const sumi_token_list *tokens, text_stream *stream)
{
    sumi_generate_options options = sumi_generate_defaults();
    options.max_new_tokens = a->n_new;
    options.stop = a->stop.items;
    options.n_stop = a->stop.n;
    options.ignore_eog = a->ignore_eog;
    options.special = a->special;
    options.on_text = text_stream_write;
    options.user = stream;

    sumi_sampler *sampler = NULL;
    sumi_generate_result result = { 0 };
    sumi_error err;
    sumi_status st = sumi_sampler_new(&sampler, &a->sampling, m->info.vocab, &err);
    if (!st) st = sumi_generate(m->session, sampler, tokens->ids, (int32_t)tokens->n, &options, &result, &err);
    int status = STATUS_OK;
    if (!st) {
        status = text_stream_end(stream);
        print_speed(&result, a->n_new, &a->sampling, sumi_sampler_seed(sampler));
    } else if (stream->last_byte) { /* failed in the middle of the text: the line ends before the message */
        text_stream_end(stream);
    }
    sumi_sampler_free(sampler);
    if (st) return report_error(&err);
    return status ? status : interrupt_seen() ? STATUS_INTERRUPTED : STATUS_OK;
}

static int run_prompt(const run_args *a, open_model *m, const input_text *prompt)
{
    sumi_token_list tokens = { 0 };
    int status = model_open(m, &a->model);
    if (!status) status = model_open_session(m, a->n_ctx, a->model.exact);
    if (!status) status = prompt_tokens(a, m, prompt, &tokens);
    if (status) return status;
    text_stream stream = { 0 };
    if (!a->chat && !a->no_echo) {
        stream.prefix = prompt->bytes;
        stream.n_prefix_bytes = prompt->n_bytes;
    }
    status = generate(a, m, &tokens, &stream);
    sumi_token_list_free(&tokens);
    return status;
}

int command_run(int argc, char **argv)
{
    run_args a = {
        .model = model_args_defaults(), .sampling = sumi_sampling_defaults(), .n_ctx = CONTEXT_DEFAULT, .n_new = -1
    };
    a.sampling.seed = SUMI_SEED_RANDOM;
    int status = parse(&a, argc, argv);
    if (status != OPTIONS_OK) return status;

    input_text prompt;
    status = input_read(&prompt, a.prompt, a.prompt_path, "run", "give -p TEXT or -f FILE, or pipe the prompt in");
    if (status) return status;
    if (!a.prompt || !strcmp(a.prompt, "-")) input_drop_final_newline(&prompt);

    interrupt_arm();
    open_model m = { 0 };
    status = run_prompt(&a, &m, &prompt);
    model_close(&m);
    input_free(&prompt);
    return status;
}
