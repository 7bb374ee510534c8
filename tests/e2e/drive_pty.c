/* drive_pty STEP... -- COMMAND... - run a command on a terminal of its own and act as the person in front of it.
 *   wait:TEXT   read what the command prints until TEXT has come after the last step
 *   edit        wait until the command takes single keys; before that, the terminal itself would act on Ctrl-D
 *   send:TEXT   type TEXT
 *   key:N       type the byte N (3: Ctrl-C, 4: Ctrl-D, 13: Enter)
 * Then reads to the end. Everything printed goes to stdout; the exit status is the command's, 128 + N for signal N,
 * 124 when a step or the end does not come within 60 seconds. */
#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

enum { LIMIT_MS = 60000, STATUS_LATE = 124, MAX_BYTES = 1 << 20 };

typedef struct screen {
    int terminal;
    pid_t child;
    char *text; /* all that was printed, NUL-terminated */
    size_t n_bytes, n_seen_bytes;
} screen;

/* Read once. 1: something came, 0: the command is gone, -1: nothing within the limit, or too much. */
static int read_some(screen *s)
{
    struct pollfd p = { .fd = s->terminal, .events = POLLIN };
    if (s->n_bytes + 1 >= MAX_BYTES || poll(&p, 1, LIMIT_MS) <= 0) return -1;
    const ssize_t n = read(s->terminal, s->text + s->n_bytes, MAX_BYTES - 1 - s->n_bytes);
    if (n <= 0) return 0; /* a pty whose other side is closed reads as EIO */
    fwrite(s->text + s->n_bytes, 1, (size_t)n, stdout);
    s->n_bytes += (size_t)n;
    s->text[s->n_bytes] = '\0';
    return 1;
}

static int wait_for(screen *s, const char *text)
{
    for (;;) {
        const char *found = strstr(s->text + s->n_seen_bytes, text);
        if (found) {
            s->n_seen_bytes = (size_t)(found - s->text) + strlen(text);
            return 0;
        }
        const int got = read_some(s);
        if (got <= 0) {
            fprintf(stderr, "drive_pty: '%s' did not come\n", text);
            return STATUS_LATE;
        }
    }
}

static int wait_for_editing(const screen *s)
{
    for (int waited_ms = 0; waited_ms < LIMIT_MS; waited_ms += 10) {
        struct termios mode;
        if (tcgetattr(s->terminal, &mode)) break;
        if (!(mode.c_lflag & ICANON)) return 0;
        poll(NULL, 0, 10);
    }
    fprintf(stderr, "drive_pty: the command does not edit lines\n");
    return STATUS_LATE;
}

static int type(screen *s, const char *text, size_t n_bytes)
{
    return write(s->terminal, text, n_bytes) == (ssize_t)n_bytes ? 0 : STATUS_LATE;
}

static int take_step(screen *s, const char *step)
{
    if (!strncmp(step, "wait:", 5)) return wait_for(s, step + 5);
    if (!strcmp(step, "edit")) return wait_for_editing(s);
    if (!strncmp(step, "send:", 5)) return type(s, step + 5, strlen(step + 5));
    if (!strncmp(step, "key:", 4)) return type(s, (const char[]){ (char)strtol(step + 4, NULL, 10) }, 1);
    fprintf(stderr, "drive_pty: unknown step '%s'\n", step);
    return 2;
}

static int finish(screen *s)
{
    int got;
    while ((got = read_some(s)) > 0) continue;
    if (got < 0) {
        fprintf(stderr, "drive_pty: the command does not end\n");
        return STATUS_LATE;
    }
    return 0;
}

static int exit_status(pid_t child)
{
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return STATUS_LATE;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
    int n_steps = 1;
    while (n_steps < argc && strcmp(argv[n_steps], "--") != 0) n_steps++;
    if (n_steps + 1 >= argc) {
        fprintf(stderr, "usage: drive_pty STEP... -- COMMAND...\n");
        return 2;
    }
    screen s = { .text = calloc(1, MAX_BYTES) };
    struct winsize size = { .ws_row = 25, .ws_col = 80 };
    s.child = s.text ? forkpty(&s.terminal, NULL, NULL, &size) : -1;
    if (s.child < 0) {
        perror("drive_pty");
        return 2;
    }
    if (s.child == 0) {
        setenv("TERM", "xterm", 1);
        execv(argv[n_steps + 1], argv + n_steps + 1);
        _exit(127);
    }
    int status = 0;
    for (int i = 1; i < n_steps && !status; i++) status = take_step(&s, argv[i]);
    if (!status) status = finish(&s);
    if (status) kill(s.child, SIGKILL);
    const int child_status = exit_status(s.child);
    free(s.text);
    return status ? status : child_status;
}
