/* input.h - text that a command works on: an argument, a file or what is piped in. */
#ifndef SUMI_CLI_INPUT_H
#define SUMI_CLI_INPUT_H

#include <stdbool.h>
#include <stddef.h>

typedef struct input_text {
    char *bytes; /* malloc'ed and NUL-terminated; may hold other NULs */
    size_t n_bytes;
} input_text;

/* Where a text comes from, first match: `argument` ("-": stdin), the file `path` ("-": stdin), stdin when it is not
 * a terminal. None of them is wrong use: the message names `how`, the options to give. Returns the exit status. */
int input_read(input_text *out, const char *argument, const char *path, const char *command, const char *how);
void input_free(input_text *text);

/* Drop one final newline, the one that editors and echo put after a text. */
void input_drop_final_newline(input_text *text);

#endif
