/* generation.h - what `run` and `chat` share: sampling options, streaming text to stdout, the speed line. */
#ifndef SUMI_CLI_GENERATION_H
#define SUMI_CLI_GENERATION_H

#include "model_open.h"

#include <stddef.h>

enum { SAMPLING_OPTIONS = 9 };
option_group sampling_option_group(sumi_sampling *sampling, cli_option table[SAMPLING_OPTIONS]);

/* Text on its way to stdout. */
typedef struct text_stream {
    const char *prefix; /* printed before the first piece; borrowed */
    size_t n_prefix_bytes;
    char last_byte;   /* of what was printed; 0: nothing yet */
    int error_number; /* of the write that failed, after which the stream stops */
    char *text;       /* the pieces, NUL-terminated, when keep_text */
    size_t n_text_bytes, capacity_bytes;
    bool keep_text;
} text_stream;

/* A sumi_text_fn; user is the text_stream. Returns false after Ctrl-C or a failed write. */
bool text_stream_write(void *user, const char *text, size_t n_bytes);

/* Print the prefix if no piece did. On a terminal, end the line. Returns the exit status. */
int text_stream_end(text_stream *stream);

/* On a terminal: tokens per second of prompt and answer, whether the context ended it (max_new_tokens did not), and
 * the seed that repeats the text. */
void print_speed(const sumi_generate_result *result, int32_t max_new_tokens, const sumi_sampling *sampling,
                 uint64_t seed);

#endif
