/* generation.c - sampling options and text streaming for `run` and `chat`. */
#include "generation.h"
#include "output.h"
#include "report.h"
#include "terminal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

option_group sampling_option_group(sumi_sampling *s, cli_option table[SAMPLING_OPTIONS])
{
    const cli_option options[SAMPLING_OPTIONS] = {
        { .name = "--temp",
          .argument = "X",
          .type = OPTION_FLOAT,
          .value = &s->temperature,
          .min = 0,
          .max = 100,
          .help = "temperature; 0 always takes the most likely token" },
        { .name = "--top-k",
          .argument = "N",
          .type = OPTION_INT,
          .value = &s->top_k,
          .min = 0,
          .max = INT32_MAX,
          .help = "keep the N most likely tokens; 0 is off" },
        { .name = "--top-p",
          .argument = "X",
          .type = OPTION_FLOAT,
          .value = &s->top_p,
          .min = 0,
          .max = 1,
          .help = "keep the most likely tokens that together have probability X; 1 is off" },
        { .name = "--min-p",
          .argument = "X",
          .type = OPTION_FLOAT,
          .value = &s->min_p,
          .min = 0,
          .max = 1,
          .help = "keep tokens at least X times as likely as the first; 0 is off" },
        { .name = "--repeat-penalty",
          .argument = "X",
          .type = OPTION_FLOAT,
          .value = &s->repeat_penalty,
          .min = 0.01,
          .max = 100,
          .help = "divide the logits of recent tokens; 1 is off" },
        { .name = "--presence-penalty",
          .argument = "X",
          .type = OPTION_FLOAT,
          .value = &s->presence_penalty,
          .min = -100,
          .max = 100,
          .help = "subtract from the logits of recent tokens; 0 is off" },
        { .name = "--frequency-penalty",
          .argument = "X",
          .type = OPTION_FLOAT,
          .value = &s->frequency_penalty,
          .min = -100,
          .max = 100,
          .help = "the same, times the number of occurrences; 0 is off" },
        { .name = "--repeat-last-n",
          .argument = "N",
          .type = OPTION_INT,
          .value = &s->penalty_last_n,
          .min = -1,
          .max = 1 << 20,
          .help = "how many tokens are recent; 0 is off, -1 all" },
        { .name = "--seed",
          .alias = "-s",
          .argument = "N",
          .type = OPTION_SEED,
          .value = &s->seed,
          .default_text = "-1, a new one each time",
          .help = "seed of the random choices" },
    };
    memcpy(table, options, sizeof options);
    return (option_group){ "Sampling", table, SAMPLING_OPTIONS };
}

static bool keep(text_stream *s, const char *text, size_t n_bytes)
{
    if (s->n_text_bytes + n_bytes + 1 > s->capacity_bytes) {
        const size_t capacity = 2 * (s->n_text_bytes + n_bytes) + 256;
        char *larger = realloc(s->text, capacity);
        if (!larger) return false;
        s->text = larger;
        s->capacity_bytes = capacity;
    }
    memcpy(s->text + s->n_text_bytes, text, n_bytes);
    s->n_text_bytes += n_bytes;
    s->text[s->n_text_bytes] = '\0';
    return true;
}

static bool print(text_stream *s, const char *text, size_t n_bytes)
{
    if (n_bytes == 0) return true;
    s->error_number = output_write(text, n_bytes);
    s->last_byte = text[n_bytes - 1];
    return s->error_number == 0;
}

static bool print_prefix(text_stream *s)
{
    const size_t n_bytes = s->n_prefix_bytes;
    s->n_prefix_bytes = 0;
    return print(s, s->prefix, n_bytes);
}

bool text_stream_write(void *user, const char *text, size_t n_bytes)
{
    text_stream *s = user;
    if (!print_prefix(s) || !print(s, text, n_bytes)) return false;
    if (s->keep_text && !keep(s, text, n_bytes)) {
        s->error_number = ENOMEM;
        return false;
    }
    return !interrupt_seen();
}

int text_stream_end(text_stream *s)
{
    if (!s->error_number) print_prefix(s);
    if (!s->error_number && terminal_is_stdout() && s->last_byte && s->last_byte != '\n') print(s, "\n", 1);
    return output_status(s->error_number);
}

static double per_second(int32_t n, double seconds) { return seconds > 0 ? n / seconds : 0; }

void print_speed(const sumi_generate_result *r, int32_t max_new_tokens, const sumi_sampling *sampling, uint64_t seed)
{
    if (!terminal_is_stderr()) return;
    const int32_t n_evaluated = r->n_prompt_tokens - r->n_cached_tokens;
    fprintf(stderr, "[prompt: %d tokens, %.1f tokens/s | answer: %d tokens, %.1f tokens/s", n_evaluated,
            per_second(n_evaluated, r->prompt_seconds), r->n_new_tokens,
            per_second(r->n_new_tokens, r->generate_seconds));
    if (r->finish == SUMI_FINISH_LENGTH && r->n_new_tokens != max_new_tokens) fputs(" | the context is full", stderr);
    if (sampling->temperature > 0) fprintf(stderr, " | seed %" PRIu64, seed);
    fprintf(stderr, "]\n");
}
