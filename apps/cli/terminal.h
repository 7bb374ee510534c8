/* terminal.h - what only a person at a terminal sees: progress bars, and Ctrl-C. */
#ifndef SUMI_CLI_TERMINAL_H
#define SUMI_CLI_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>

bool terminal_is_stderr(void);
bool terminal_is_stdout(void);

double seconds_now(void); /* monotonic */

/* From now on the first Ctrl-C sets a flag and a second one ends the process. */
void interrupt_arm(void);
/* From now on every Ctrl-C sets the flag: for a prompt, where it clears the line. */
void interrupt_arm_repeated(void);
/* Ctrl-C ends the process, as it does at the start. */
void interrupt_disarm(void);
bool interrupt_seen(void);
void interrupt_clear(void);

/* Wait until stdin has something to read, or its end. False after Ctrl-C, also one that came before the call. */
bool terminal_wait_for_input(void);

/* A bar on stderr, drawn only on a terminal and only for work that takes more than half a second. */
typedef struct progress_bar {
    const char *what; /* "loading" */
    double start_seconds, drawn_seconds;
    bool is_drawn;
} progress_bar;

progress_bar progress_begin(const char *what);
/* A sumi_progress_fn; user is the progress_bar. Returns false after Ctrl-C, which stops the work. */
bool progress_update(void *user, uint64_t done, uint64_t total);
void progress_end(progress_bar *bar); /* wipes the bar */

#endif
