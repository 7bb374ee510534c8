/* terminal.c - progress bars and Ctrl-C. */
#include "terminal.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

/* The one thing a signal handler may touch. */
static volatile sig_atomic_t interrupted;

bool terminal_is_stderr(void) { return isatty(STDERR_FILENO) != 0; }
bool terminal_is_stdout(void) { return isatty(STDOUT_FILENO) != 0; }

double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    interrupted = 1;
}

static void install_handler(int flags)
{
    struct sigaction action = { .sa_handler = on_interrupt, .sa_flags = flags };
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
}

void interrupt_arm(void) { install_handler((int)SA_RESETHAND); }

void interrupt_arm_repeated(void) { install_handler(0); }

void interrupt_disarm(void) { signal(SIGINT, SIG_DFL); }

bool interrupt_seen(void) { return interrupted != 0; }

void interrupt_clear(void) { interrupted = 0; }

bool terminal_wait_for_input(void)
{
    sigset_t blocked, before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGINT);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    /* From here a Ctrl-C is delivered inside pselect only: none can slip in between the test and the wait. */
    int n_ready = 0;
    while (!interrupt_seen() && n_ready == 0) {
        fd_set readable;
        FD_ZERO(&readable);
        FD_SET(STDIN_FILENO, &readable);
        n_ready = pselect(STDIN_FILENO + 1, &readable, NULL, NULL, NULL, &before);
        if (n_ready < 0 && errno == EINTR) n_ready = 0; /* also when the window was resized */
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return !interrupt_seen();
}

progress_bar progress_begin(const char *what)
{
    return (progress_bar){ .what = what, .start_seconds = seconds_now() };
}

static void draw(const progress_bar *bar, uint64_t done, uint64_t total)
{
    enum { WIDTH = 40 };
    char cells[WIDTH + 1];
    const double share = total ? (double)done / (double)total : 0;
    const int n_full = (int)(share * WIDTH);
    for (int i = 0; i < WIDTH; i++) cells[i] = i < n_full ? '#' : '.';
    cells[WIDTH] = '\0';
    fprintf(stderr, "\r%s [%s] %3.0f%%", bar->what, cells, 100 * share);
    fflush(stderr);
}

bool progress_update(void *user, uint64_t done, uint64_t total)
{
    progress_bar *bar = user;
    const double now = seconds_now();
    if (now - bar->start_seconds > 0.5 && now - bar->drawn_seconds > 0.05 && terminal_is_stderr()) {
        draw(bar, done, total);
        bar->drawn_seconds = now;
        bar->is_drawn = true;
    }
    return !interrupt_seen();
}

void progress_end(progress_bar *bar)
{
    if (bar->is_drawn) fputs("\r\033[K", stderr);
    bar->is_drawn = false;
}
