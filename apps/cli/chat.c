/* chat.c - sumi chat: a conversation, turn by turn. Answers go to stdout, prompts and notes to stderr. */
#include "commands.h"
#include "conversation.h"
#include "generation.h"
#include "line_input.h"
#include "output.h"
#include "report.h"
#include "terminal.h"

#include <stdlib.h>
#include <string.h>

typedef struct chat_args {
    model_args model;
    sumi_sampling sampling;
    const char *system;
    string_list stop;
    int32_t n_ctx, n_new;
} chat_args;

typedef struct chat {
    const chat_args *args;
    open_model model;
    conversation conversation;
    line_input *input;
    sumi_sampling sampling; /* with the seed of the next answer */
    bool is_over;
    bool has_failed; /* an answer failed; a script must learn it from the exit status */
} chat;

static const char about[] = "Talks with a model. Each line is a turn; lines that start with / are commands, /help\n"
                            "lists them. Ctrl-C stops an answer, Ctrl-D leaves. Lines may also come from a pipe:\n"
                            "then only the answers are printed, each ended by a newline.\n";

static int parse(chat_args *a, int argc, char **argv)
{
    cli_option model[MODEL_OPTIONS], sampling[SAMPLING_OPTIONS];
    const cli_option options[] = {
        { .name = "--system",
          .argument = "TEXT",
          .type = OPTION_STRING,
          .value = &a->system,
          .help = "system message" },
        { .name = "-n",
          .alias = "--n-predict",
          .argument = "N",
          .type = OPTION_INT,
          .value = &a->n_new,
          .min = -1,
          .max = INT32_MAX,
          .default_text = "-1, as long as the model goes on",
          .help = "tokens per answer" },
        context_option(&a->n_ctx),
        { .name = "--stop",
          .argument = "TEXT",
          .type = OPTION_STRINGS,
          .value = &a->stop,
          .help = "end an answer before this text; may be given several times" },
    };
    const option_group groups[] = { { "Chat", options, sizeof options / sizeof options[0] },
                                    model_option_group(&a->model, model),
                                    sampling_option_group(&a->sampling, sampling) };
    const option_set set = { "chat", "[-m FILE] [--system TEXT] [options]", about, groups, 3, 0 };
    return options_parse(&set, argc, argv, NULL);
}

/* Between answers: at a prompt Ctrl-C clears the line, with a pipe it ends the program. */
static void watch_prompt(const chat *c)
{
    if (line_input_is_interactive(c->input))
        interrupt_arm_repeated();
    else
        interrupt_disarm();
}

/* ---- Answers ---------------------------------------------------------------------------------------- */

static sumi_status generate(chat *c, const sumi_token_list *tokens, text_stream *stream, sumi_error *err)
{
    sumi_generate_options options = sumi_generate_defaults();
    options.max_new_tokens = c->args->n_new;
    options.stop = c->args->stop.items;
    options.n_stop = c->args->stop.n;
    options.on_text = text_stream_write;
    options.user = stream;

    /* A sampler for each answer: the penalties then count this conversation's tokens once. Seeds count up from the
     * first, so one --seed repeats a conversation and /regen still gives another answer. */
    sumi_sampler *sampler = NULL;
    sumi_status st = sumi_sampler_new(&sampler, &c->sampling, c->model.info.vocab, err);
    if (st) return st;
    sumi_generate_result result = { 0 };
    st = sumi_generate(c->model.session, sampler, tokens->ids, (int32_t)tokens->n, &options, &result, err);
    const uint64_t seed = sumi_sampler_seed(sampler);
    c->sampling.seed = seed + 1 == SUMI_SEED_RANDOM ? 0 : seed + 1;
    sumi_sampler_free(sampler);
    if (stream->last_byte && stream->last_byte != '\n' && !stream->error_number)
        stream->error_number = output_write("\n", 1);
    if (!st) print_speed(&result, c->args->n_new, &c->sampling, seed);
    return st;
}

/* Answer the conversation, which ends with a user's message. Returns an exit status only for what ends the chat: a
 * closed stdout, no memory. */
static int answer(chat *c)
{
    sumi_token_list tokens = { 0 };
    text_stream stream = { .keep_text = true };
    sumi_error err;
    sumi_status st = sumi_chat_tokens(c->model.model, c->conversation.messages, c->conversation.n, &tokens, &err);
    if (!st) {
        interrupt_arm(); /* a second Ctrl-C during one answer ends the program; one that came already counts */
        st = generate(c, &tokens, &stream, &err);
    }
    const bool is_stopped = interrupt_seen();
    interrupt_clear();
    watch_prompt(c);
    sumi_token_list_free(&tokens);

    int status = output_status(stream.error_number);
    if (!status && is_stopped && !line_input_is_interactive(c->input)) status = STATUS_INTERRUPTED;
    if (!st && !status && !conversation_add(&c->conversation, "assistant", stream.text ? stream.text : ""))
        status = report_no_memory();
    if (st) {
        report_error(&err);
        c->has_failed = true;
        conversation_truncate(&c->conversation, c->conversation.n - 1); /* the turn may be tried again, shorter */
        if (st == SUMI_ELIMIT) fputs("(/clear starts over)\n", stderr);
    }
    free(stream.text);
    return status;
}

static int say(chat *c, const char *text)
{
    return conversation_add(&c->conversation, "user", text) ? answer(c) : report_no_memory();
}

/* ---- Commands --------------------------------------------------------------------------------------- */

static int clear(chat *c, const char *argument)
{
    (void)argument;
    const bool has_system = c->conversation.n > 0 && !strcmp(c->conversation.messages[0].role, "system");
    conversation_truncate(&c->conversation, has_system);
    return STATUS_OK;
}

static int set_system(chat *c, const char *argument)
{
    conversation_truncate(&c->conversation, 0);
    if (!*argument) return STATUS_OK;
    return conversation_add(&c->conversation, "system", argument) ? STATUS_OK : report_no_memory();
}

static int save(chat *c, const char *argument)
{
    if (!*argument)
        fputs("(/save needs a file name)\n", stderr);
    else if (conversation_save(&c->conversation, argument))
        c->has_failed = true; /* the message is out; the conversation goes on */
    else
        fprintf(stderr, "(%d messages saved)\n", c->conversation.n);
    return STATUS_OK;
}

static int regenerate(chat *c, const char *argument)
{
    (void)argument;
    if (!conversation_ends_with(&c->conversation, "assistant")) {
        fputs("(there is no answer yet)\n", stderr);
        return STATUS_OK;
    }
    conversation_truncate(&c->conversation, c->conversation.n - 1);
    return answer(c);
}

static int leave(chat *c, const char *argument)
{
    (void)argument;
    c->is_over = true;
    return STATUS_OK;
}

static int help(chat *c, const char *argument);

static const struct chat_command {
    const char *name, *argument, *summary;
    int (*run)(chat *c, const char *argument);
} chat_commands[] = {
    { "/clear", "", "start over, keep the system message", clear },
    { "/system", " TEXT", "start over with this system message", set_system },
    { "/regen", "", "another answer to the last turn", regenerate },
    { "/save", " FILE", "write the conversation as JSON", save },
    { "/help", "", "this list", help },
    { "/exit", "", "leave (also Ctrl-D)", leave },
};
enum { N_CHAT_COMMANDS = sizeof chat_commands / sizeof chat_commands[0] };

static int help(chat *c, const char *argument)
{
    (void)c;
    (void)argument;
    for (int i = 0; i < N_CHAT_COMMANDS; i++)
        fprintf(stderr, "  %s%-*s %s\n", chat_commands[i].name, 14 - (int)strlen(chat_commands[i].name),
                chat_commands[i].argument, chat_commands[i].summary);
    return STATUS_OK;
}

static int run_command(chat *c, const char *line)
{
    const size_t n = strcspn(line, " ");
    for (int i = 0; i < N_CHAT_COMMANDS; i++)
        if (strlen(chat_commands[i].name) == n && !memcmp(chat_commands[i].name, line, n))
            return chat_commands[i].run(c, line + n + strspn(line + n, " "));
    fprintf(stderr, "(%.*s is no command; /help lists them)\n", (int)n, line);
    return STATUS_OK;
}

/* ---- The loop --------------------------------------------------------------------------------------- */

static int read_turns(chat *c)
{
    while (!c->is_over) {
        const char *line = NULL;
        const line_result result = line_input_read(c->input, &line);
        int status = STATUS_OK;
        if (result == LINE_END) {
            if (line_input_is_interactive(c->input)) fputc('\n', stderr);
            break;
        }
        if (result == LINE_INTERRUPTED) {
            fputs("\n(Ctrl-D or /exit leaves)\n", stderr);
            interrupt_clear();
        } else if (line[0] == '/') {
            status = run_command(c, line);
        } else if (line[0]) {
            status = say(c, line);
        }
        if (status) return status;
    }
    return c->has_failed ? STATUS_FAILED : STATUS_OK;
}

static void greet(const chat *c)
{
    if (!line_input_is_interactive(c->input)) return;
    fprintf(stderr, "%s (%s, %s), context %d tokens. /help lists commands.\n",
            c->model.info.name[0] ? c->model.info.name : c->model.info.arch, c->model.info.quant,
            sumi_device_description(c->model.device), sumi_session_max_tokens(c->model.session));
}

static int run_chat(chat *c)
{
    interrupt_arm();
    int status = model_open(&c->model, &c->args->model);
    if (!status) status = model_open_session(&c->model, c->args->n_ctx, c->args->model.exact);
    if (status) return status;
    c->input = line_input_new("> ");
    if (!c->input) return report_no_memory();
    watch_prompt(c);
    if (c->args->system && !conversation_add(&c->conversation, "system", c->args->system)) return report_no_memory();
    greet(c);
    return read_turns(c);
}

int command_chat(int argc, char **argv)
{
    chat_args a = {
        .model = model_args_defaults(), .sampling = sumi_sampling_defaults(), .n_ctx = CONTEXT_DEFAULT, .n_new = -1
    };
    a.sampling.seed = SUMI_SEED_RANDOM;
    int status = parse(&a, argc, argv);
    if (status != OPTIONS_OK) return status;
    chat c = { .args = &a, .sampling = a.sampling };
    status = run_chat(&c);
    line_input_free(c.input);
    conversation_free(&c.conversation);
    model_close(&c.model);
    return status;
}
