/* output.h - stdout and files, written whole or not at all.
 *
 * stdout carries results only. It is written with write(2) and without a stdio buffer, so that a full disk or a
 * closed pipe is seen at the write that met it. */
#ifndef SUMI_CLI_OUTPUT_H
#define SUMI_CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <jansson.h>

/* Write to stdout. Returns 0 or the errno of the failure. */
int output_write(const void *bytes, size_t n_bytes);

/* The line and exit status for an errno from output_write; 0 gives STATUS_OK. */
int output_status(int error_number);

/* Text built in memory through a stdio stream, then printed in one piece. */
typedef struct whole_output {
    FILE *stream;
    char *bytes;
    size_t n_bytes;
} whole_output;

bool whole_output_begin(whole_output *w);
int whole_output_print(whole_output *w); /* ends it; returns the exit status */
void whole_output_discard(whole_output *w);

/* Print `root` on stdout followed by a newline, and release it. NULL counts as out of memory. Returns the exit
 * status. */
int output_json(json_t *root, size_t flags);

/* A destination that appears only when it is complete: a file under a temporary name in its own folder, or for
 * path NULL an unnamed file that is copied to stdout. What is not a regular file (/dev/null, a FIFO) is written in
 * place. */
typedef struct staged_file {
    FILE *stream;
    const char *path; /* borrowed; NULL: stdout */
    char *temporary;  /* NULL: written in place, or unnamed */
} staged_file;

int staged_file_begin(staged_file *f, const char *path); /* returns the exit status */
int staged_file_commit(staged_file *f);                  /* ends it; returns the exit status */
void staged_file_discard(staged_file *f);

#endif
