/* report.h - the one line on stderr that says what went wrong, and the exit status that goes with it. */
#ifndef SUMI_CLI_REPORT_H
#define SUMI_CLI_REPORT_H

#include "sumi.h"

/* Exit statuses of every command. */
enum {
    STATUS_OK = 0,
    STATUS_FAILED = 1,       /* the request was understood, something went wrong */
    STATUS_USAGE = 2,        /* the command line is wrong */
    STATUS_INTERRUPTED = 130 /* Ctrl-C, as shells count it: a script can tell a stopped run from a finished one */
};

/* Print "sumi: ..." and return STATUS_FAILED or STATUS_USAGE. The line is one line whatever the arguments hold. */
int report_failure(const char *format, ...) __attribute__((format(printf, 1, 2)));
int report_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same for a failed library call; one that was stopped by Ctrl-C gives STATUS_INTERRUPTED without a line. */
int report_error(const sumi_error *err);

int report_no_memory(void);

#endif
