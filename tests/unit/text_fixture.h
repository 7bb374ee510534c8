/* Small vocabularies written to a file in the working directory, opened, and removed again. */
#ifndef TEXT_FIXTURE_H
#define TEXT_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "text/tokenizer.h"

#define DEMO_MODEL SUMI_MODELS "/sumi-tales-40m-q1_0.gguf"

/* What a test wants different; zero means the default named in the comment. */
typedef struct vocab_spec {
    const char *model;         /* "gpt2"; "-": no such key */
    const char *pre;           /* no such key */
    const char *template;      /* no such key */
    const char *const *tokens; /* NULL-terminated; "a", "b", "ab", "<|im_start|>", "<|im_end|>", "<tool>" */
    const char *const *merges; /* NULL-terminated; "a b" */
    bool all_bytes;            /* put the 256 byte tokens after `tokens` */
    bool no_tokens, no_merges; /* leave the key out */
    bool tokens_as_ints, merges_as_ints;
    sumi_gguf_type types_type; /* of token_type when n_types > 0 */
    const void *types;         /* packed elements; none: no such key */
    uint64_t n_types;
    sumi_gguf_type scores_type;
    const void *scores;
    uint64_t n_scores;
    const char *id_key; /* one more integer key */
    int64_t id;
    bool add_bos;
} vocab_spec;

enum { MAX_FIXTURE_STRINGS = 600, FIXTURE_TOKENS = 6 };

/* The printable character GPT-2 uses for a byte, in UTF-8. */
static inline sumi_str byte_token(int byte, char storage[2])
{
    int shifted = 0x100, c = byte;
    for (int b = 0; b <= byte; b++) {
        const bool own = (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
        if (b == byte && !own) c = shifted;
        shifted += !own;
    }
    if (c < 0x80) {
        storage[0] = (char)c;
        return (sumi_str){ storage, 1 };
    }
    storage[0] = (char)(0xc0 | c >> 6);
    storage[1] = (char)(0x80 | (c & 0x3f));
    return (sumi_str){ storage, 2 };
}

static inline void put_text(sumi_gguf_writer *w, const char *key, const char *value)
{
    assert_int_equal(sumi_gguf_put_string(w, key, (sumi_str){ value, strlen(value) }), SUMI_OK);
}

/* tokens and, when all_bytes, those byte tokens that are not among them. */
static inline uint64_t collect_tokens(const vocab_spec *spec, sumi_str *out, char (*storage)[2])
{
    static const char *const usual[] = { "a", "b", "ab", "<|im_start|>", "<|im_end|>", "<tool>", NULL };
    const char *const *tokens = spec->tokens ? spec->tokens : usual;
    uint64_t n = 0;
    for (; tokens[n]; n++) out[n] = (sumi_str){ tokens[n], strlen(tokens[n]) };
    for (int byte = 0; spec->all_bytes && byte < 256; byte++) {
        const sumi_str text = byte_token(byte, storage[byte]);
        bool known = false;
        for (uint64_t i = 0; tokens[i] && !known; i++)
            known = out[i].n_bytes == text.n_bytes && memcmp(out[i].data, text.data, text.n_bytes) == 0;
        if (!known) out[n++] = text;
    }
    return n;
}

static inline void put_merges(sumi_gguf_writer *w, const vocab_spec *spec)
{
    static const char *const usual[] = { "a b", NULL };
    static const int32_t ints[] = { 1, 2 };
    const char *const *merges = spec->merges ? spec->merges : usual;
    sumi_str strings[MAX_FIXTURE_STRINGS];
    uint64_t n = 0;
    for (; merges[n]; n++) strings[n] = (sumi_str){ merges[n], strlen(merges[n]) };
    if (spec->merges_as_ints)
        assert_int_equal(sumi_gguf_put_array(w, "tokenizer.ggml.merges", SUMI_GGUF_I32, ints, 2), SUMI_OK);
    else
        assert_int_equal(sumi_gguf_put_strings(w, "tokenizer.ggml.merges", strings, n), SUMI_OK);
}

static inline void put_tokens(sumi_gguf_writer *w, const vocab_spec *spec)
{
    static const int32_t ints[] = { 1, 2, 3 };
    char storage[256][2];
    sumi_str tokens[MAX_FIXTURE_STRINGS];
    const uint64_t n = collect_tokens(spec, tokens, storage);
    if (spec->tokens_as_ints)
        assert_int_equal(sumi_gguf_put_array(w, "tokenizer.ggml.tokens", SUMI_GGUF_I32, ints, 3), SUMI_OK);
    else
        assert_int_equal(sumi_gguf_put_strings(w, "tokenizer.ggml.tokens", tokens, n), SUMI_OK);
}

/* The file as an open GGUF; the caller closes it. */
static inline sumi_gguf *open_vocab(const vocab_spec *spec)
{
    char path[64];
    snprintf(path, sizeof path, "text_fixture_%ld.gguf", (long)getpid());
    sumi_error err = { 0 };
    sumi_gguf_writer *w = NULL;
    assert_int_equal(sumi_gguf_writer_new(&w, path, &err), SUMI_OK);
    put_text(w, "general.architecture", "none");
    if (!spec->model || strcmp(spec->model, "-"))
        put_text(w, "tokenizer.ggml.model", spec->model ? spec->model : "gpt2");
    if (spec->pre) put_text(w, "tokenizer.ggml.pre", spec->pre);
    if (spec->template) put_text(w, "tokenizer.chat_template", spec->template);
    if (!spec->no_tokens) put_tokens(w, spec);
    if (!spec->no_merges) put_merges(w, spec);
    if (spec->n_types > 0)
        sumi_gguf_put_array(w, "tokenizer.ggml.token_type", spec->types_type, spec->types, spec->n_types);
    if (spec->n_scores > 0)
        sumi_gguf_put_array(w, "tokenizer.ggml.scores", spec->scores_type, spec->scores, spec->n_scores);
    if (spec->id_key) sumi_gguf_put_int(w, spec->id_key, SUMI_GGUF_I64, spec->id);
    if (spec->add_bos) sumi_gguf_put_bool(w, "tokenizer.ggml.add_bos_token", true);
    if (sumi_gguf_writer_finish(w, &err)) fail_msg("%s", err.message);
    sumi_gguf_writer_free(w);

    sumi_gguf *g = NULL;
    const sumi_status st = sumi_gguf_open(&g, path, SUMI_Q2_AUTO, &err);
    unlink(path);
    if (st) fail_msg("%s", err.message);
    return g;
}

static inline sumi_tokenizer *new_tokenizer(const sumi_gguf *g)
{
    sumi_error err = { 0 };
    sumi_tokenizer *t = NULL;
    if (sumi_tokenizer_new(&t, g, &err)) fail_msg("%s", err.message);
    return t;
}

static inline void assert_ids(const int32_t *ids, int64_t n, const int32_t *expected, int64_t n_expected)
{
    assert_int_equal(n, n_expected);
    for (int64_t i = 0; i < n; i++) assert_int_equal(ids[i], expected[i]);
}

#endif
