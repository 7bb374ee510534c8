/* report.c - error lines. */
#include "report.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static void print_line(const char *format, va_list args)
{
    char line[2048];
    vsnprintf(line, sizeof line, format, args);
    for (char *c = line; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = '?';
    fprintf(stderr, "sumi: %s\n", line);
}

int report_failure(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_line(format, args);
    va_end(args);
    return STATUS_FAILED;
}

int report_usage(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_line(format, args);
    va_end(args);
    return STATUS_USAGE;
}

int report_error(const sumi_error *err)
{
    if (err->status == SUMI_ECANCELLED) return STATUS_INTERRUPTED;
    return report_failure("%s", err->message);
}

int report_no_memory(void) { return report_failure("out of memory"); }
