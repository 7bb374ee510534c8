/* line_input.h - one line at a time from a person (edited, with history) or from a pipe. */
#ifndef SUMI_CLI_LINE_INPUT_H
#define SUMI_CLI_LINE_INPUT_H

#include <stdbool.h>

typedef struct line_input line_input;

/* prompt: shown before each line on a terminal; borrowed. NULL when out of memory. */
line_input *line_input_new(const char *prompt);
void line_input_free(line_input *input);
bool line_input_is_interactive(const line_input *input);

typedef enum line_result {
    LINE_READ,
    LINE_END,         /* Ctrl-D, end of the pipe, or it cannot be read */
    LINE_INTERRUPTED, /* Ctrl-C while a person types; the line is dropped */
} line_result;

/* The next line without its newline, in *line until the next call. */
line_result line_input_read(line_input *input, const char **line);

#endif
