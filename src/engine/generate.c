/* Generation: prompt in, text out, token by token. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/sampler.h"
#include "engine/session.h"
#include "engine/stop.h"

sumi_generate_options sumi_generate_defaults(void) { return (sumi_generate_options){ .max_new_tokens = -1 }; }

static double now_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* From token bytes to whole characters to text that is not part of a stop string to the caller. */
typedef struct text_stream {
    const sumi_generate_options *options;
    const sumi_tokenizer *tokenizer;
    sumi_utf8_stream utf8;
    sumi_stop stop;
    char *text; /* characters of one token */
    bool is_cancelled;
} text_stream;

static size_t text_room(size_t n_bytes) { return n_bytes + 4 + 2 * (n_bytes + 4); } /* see sumi_utf8_push */

static size_t longest_token_bytes(const sumi_tokenizer *t)
{
    size_t longest = 1;
    for (int32_t id = 0; id < sumi_tokenizer_n_vocab(t); id++) {
        const size_t n = sumi_tokenizer_token_bytes(t, id, true).n_bytes;
        if (n > longest) longest = n;
    }
    return longest;
}

static sumi_status stream_init(text_stream *s, const sumi_tokenizer *t, const sumi_generate_options *options,
                               sumi_error *err)
{
    *s = (text_stream){ .options = options, .tokenizer = t };
    const size_t room = text_room(longest_token_bytes(t));
    s->text = malloc(room);
    if (!s->text) return sumi_fail(err, SUMI_ENOMEM, "generate: %zu bytes", room);
    return sumi_stop_init(&s->stop, options->stop, options->n_stop, room, err);
}

static void stream_deinit(text_stream *s)
{
    sumi_stop_deinit(&s->stop);
    free(s->text);
}

static void show(text_stream *s, size_t n_bytes)
{
    if (n_bytes && s->options->on_text && !s->options->on_text(s->options->user, s->stop.held, n_bytes))
        s->is_cancelled = true;
    sumi_stop_take(&s->stop, n_bytes);
}

/* Returns true when a stop string ends the text. */
static bool stream_push(text_stream *s, sumi_str bytes, bool is_end)
{
    size_t n_ready;
    const size_t n = sumi_utf8_push(&s->utf8, (const uint8_t *)bytes.data, bytes.n_bytes, is_end, s->text);
    const bool is_stop = sumi_stop_push(&s->stop, s->text, n, &n_ready);
    show(s, is_end && !is_stop ? s->stop.n_held : n_ready); /* at the end nothing can complete a stop string */
    return is_stop;
}

/* Called between chunks of the prompt, with no text: the caller may stop here too. */
static bool ask_caller(void *user)
{
    const sumi_generate_options *o = user;
    return !o->on_text || o->on_text(o->user, "", 0);
}

static sumi_status check(const sumi_session *s, const sumi_sampler *sampler, const int32_t *prompt, int32_t n_prompt,
                         sumi_error *err)
{
    if (!s || !sampler) return sumi_fail(err, SUMI_EINVAL, "generate: %s is NULL", s ? "sampler" : "session");
    if (sumi_sampler_vocab(sampler) != s->model->config.vocab)
        return sumi_fail(err, SUMI_EINVAL, "generate: the sampler is for %" PRId32 " tokens, the model has %" PRId32,
                         sumi_sampler_vocab(sampler), s->model->config.vocab);
    if (!prompt || n_prompt < 1) return sumi_fail(err, SUMI_EINVAL, "generate: the prompt is empty");
    if (n_prompt > s->max_tokens)
        return sumi_fail(err, SUMI_ELIMIT, "generate: the prompt has %" PRId32 " tokens, the context holds %" PRId32,
                         n_prompt, s->max_tokens);
    return SUMI_OK;
}

/* Tokens of the prompt that the session already holds; the last one is evaluated again for its logits. */
static int32_t common_prefix(const sumi_session *s, const int32_t *prompt, int32_t n_prompt)
{
    int32_t n = 0;
    while (n < s->n_tokens && n < n_prompt - 1 && s->tokens[n] == prompt[n]) n++;
    return n;
}

static sumi_status evaluate_prompt(sumi_session *s, sumi_sampler *sampler, const int32_t *prompt, int32_t n_prompt,
                                   const sumi_generate_options *options, sumi_generate_result *result,
                                   sumi_error *err)
{
    result->n_prompt_tokens = n_prompt;
    result->n_cached_tokens = common_prefix(s, prompt, n_prompt);
    sumi_status st = sumi_session_truncate(s, result->n_cached_tokens, err);
    if (st) return st;
    for (int32_t i = 0; i < n_prompt; i++) sumi_sampler_accept(sampler, prompt[i]);
    return sumi_session_append(s, prompt + result->n_cached_tokens, n_prompt - result->n_cached_tokens,
                               SUMI_LOGITS_LAST, ask_caller, (void *)options, err);
}

/* Sample, show, append, until something ends it. Every generated token that is part of the text is in the cache
 * afterwards, except the last one when nothing had to follow it. */
static sumi_status generate_tokens(sumi_session *s, sumi_sampler *sampler, text_stream *stream,
                                   const sumi_generate_options *options, sumi_generate_result *result,
                                   sumi_error *err)
{
    const sumi_str nothing = { "", 0 };
    result->finish = SUMI_FINISH_LENGTH;
    while (options->max_new_tokens < 0 || result->n_new_tokens < options->max_new_tokens) {
        int32_t token;
        sumi_status st = sumi_sampler_sample(sampler, sumi_session_logits(s, s->n_logits - 1), &token, err);
        if (st) return st;
        sumi_sampler_accept(sampler, token);
        result->n_new_tokens++;
        if (!options->ignore_eog && sumi_tokenizer_is_eog(stream->tokenizer, token)) {
            result->finish = SUMI_FINISH_EOG;
            break;
        }
        if (stream_push(stream, sumi_tokenizer_token_bytes(stream->tokenizer, token, options->special), false)) {
            result->finish = SUMI_FINISH_STOP;
            return SUMI_OK; /* what is held back is the stop string itself */
        }
        if (stream->is_cancelled) {
            result->finish = SUMI_FINISH_CANCELLED;
            return SUMI_OK;
        }
        if (s->n_tokens == s->max_tokens) break;
        if (result->n_new_tokens == options->max_new_tokens) break;
        if ((st = sumi_session_append(s, &token, 1, SUMI_LOGITS_LAST, NULL, NULL, err))) return st;
    }
    if (stream_push(stream, nothing, true))
        result->finish = SUMI_FINISH_STOP;
    else if (stream->is_cancelled)
        result->finish = SUMI_FINISH_CANCELLED;
    return SUMI_OK;
}

sumi_status sumi_generate(sumi_session *session, sumi_sampler *sampler, const int32_t *prompt, int32_t n_prompt,
                          const sumi_generate_options *options, sumi_generate_result *result, sumi_error *err)
{
    const sumi_generate_options chosen = options ? *options : sumi_generate_defaults();
    sumi_generate_result local = { 0 };
    sumi_generate_result *r = result ? result : &local;
    *r = (sumi_generate_result){ 0 };
    sumi_status st = check(session, sampler, prompt, n_prompt, err);
    if (st) return st;
    text_stream stream;
    st = stream_init(&stream, session->model->tokenizer, &chosen, err);
    const double start = now_seconds();
    if (st == SUMI_OK) st = evaluate_prompt(session, sampler, prompt, n_prompt, &chosen, r, err);
    const double prompt_end = now_seconds();
    r->prompt_seconds = prompt_end - start;
    if (st == SUMI_ECANCELLED) { /* between chunks of the prompt */
        r->finish = SUMI_FINISH_CANCELLED;
        st = SUMI_OK;
    } else if (st == SUMI_OK) {
        st = generate_tokens(session, sampler, &stream, &chosen, r, err);
        r->generate_seconds = now_seconds() - prompt_end;
    }
    stream_deinit(&stream);
    return st;
}
