/* main.c - the table of commands, and what all of them need from the process. */
#include "commands.h"
#include "options.h"
#include "output.h"
#include "report.h"

#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct command {
    const char *name, *summary;
    int (*run)(int argc, char **argv);
} command;

static const command commands[] = {
    { "run", "continue a text or answer a question", command_run },
    { "chat", "talk with a model, turn by turn", command_chat },
    { "info", "what a model file holds", command_info },
    { "tokenize", "text to token ids and back", command_tokenize },
    { "logits", "raw logits of a list of tokens", command_logits },
    { "perplexity", "how well a model predicts a text", command_perplexity },
    { "bench", "tokens per second of prompt and generation", command_bench },
};
enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

/* A closed stdin, stdout or stderr would give its number to the next file that is opened, and text meant for
 * stdout would go there. Such a number is taken here by something that cannot be written or read instead. */
static void guard_standard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0) return;
}

/* The line editor needs to know that terminals speak UTF-8. Numbers keep their dot: only LC_CTYPE is set. */
static void set_character_type(void)
{
    if (!setlocale(LC_CTYPE, "") || !strcmp(setlocale(LC_CTYPE, NULL), "C")) setlocale(LC_CTYPE, "C.UTF-8");
}

static int print_help(void)
{
    whole_output text;
    if (!whole_output_begin(&text)) return report_no_memory();
    fprintf(text.stream, "sumi %s - run 1-bit, ternary and other small language models (GGUF)\n\n", sumi_version());
    fprintf(text.stream, "usage: sumi COMMAND [options]\n\nCommands:\n");
    for (int i = 0; i < N_COMMANDS; i++) fprintf(text.stream, "  %-12s %s\n", commands[i].name, commands[i].summary);
    fprintf(text.stream, "\n'sumi COMMAND -h' explains a command. Try:\n"
                         "  sumi run -p \"Once upon a time\"\n"
                         "  sumi chat -m model.gguf\n\n"
                         "Exit status: 0 done, 1 failed, 2 wrong use, 130 stopped by Ctrl-C.\n");
    return whole_output_print(&text);
}

static int print_version(void)
{
    whole_output text;
    if (!whole_output_begin(&text)) return report_no_memory();
    fprintf(text.stream, "sumi %s\n", sumi_version());
    return whole_output_print(&text);
}

static int unknown_command(const char *name)
{
    const char *names[N_COMMANDS];
    for (int i = 0; i < N_COMMANDS; i++) names[i] = commands[i].name;
    const char *near = nearest_name(name, names, N_COMMANDS);
    if (near) return report_usage("unknown command '%s', did you mean '%s'?", name, near);
    return report_usage("unknown command '%s'; 'sumi -h' lists all", name);
}

static const command *find_command(const char *name)
{
    for (int i = 0; i < N_COMMANDS; i++)
        if (!strcmp(name, commands[i].name)) return &commands[i];
    return NULL;
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) return print_help();
    const char *name = argv[1];
    if (!strcmp(name, "-h") || !strcmp(name, "--help")) return print_help();
    if (!strcmp(name, "--version")) return print_version();
    if (name[0] == '-')
        return report_usage("unknown option '%s'; options follow a command, 'sumi -h' lists all", name);
    const command *c = find_command(name);
    return c ? c->run(argc - 2, argv + 2) : unknown_command(name);
}

int main(int argc, char **argv)
{
    guard_standard_streams();
    set_character_type();
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is a failed write with a message, not a silent death */
    return dispatch(argc, argv);
}
