/* A device with a model on it, sessions, token sequences, and comparison of bits, for the tests of the engine. */
#ifndef ENGINE_FIXTURE_H
#define ENGINE_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sumi.h"

#define GOLDEN_DIR SUMI_TEST_DATA "/golden/"
#define TINY_MODEL GOLDEN_DIR "qwen3-q1.gguf"
#define DEMO_MODEL SUMI_MODELS "/sumi-tales-40m-q1_0.gguf"

typedef struct engine {
    sumi_device *device;
    sumi_model *model;
    int32_t vocab;
} engine;

/* One thread and the instruction set NULL mean the same as everywhere: the best one. False: this CPU lacks it. */
static inline bool engine_open_on(engine *e, const char *path, int32_t n_threads, const char *isa)
{
    const sumi_device_options options = { .n_threads = n_threads, .isa = isa };
    sumi_error err;
    *e = (engine){ 0 };
    const sumi_status st = sumi_device_open(&e->device, "cpu", &options, &err);
    if (st == SUMI_EINVAL && isa) return false;
    if (st || sumi_model_load(&e->model, path, e->device, NULL, &err)) fail_msg("%s", err.message);
    sumi_model_info info;
    sumi_model_get_info(e->model, &info);
    e->vocab = info.vocab;
    return true;
}

static inline engine engine_open(const char *path)
{
    engine e;
    engine_open_on(&e, path, 2, NULL);
    return e;
}

static inline void engine_close(engine *e)
{
    sumi_model_free(e->model);
    sumi_device_free(e->device);
}

static inline sumi_session *session_open(const engine *e, int32_t max_tokens, bool exact)
{
    const sumi_session_options options = { .max_tokens = max_tokens, .exact = exact };
    sumi_session *s;
    sumi_error err;
    if (sumi_session_new(&s, e->model, &options, &err)) fail_msg("%s", err.message);
    return s;
}

static inline void eval(sumi_session *s, const int32_t *tokens, int32_t n, sumi_logits_rows rows)
{
    sumi_error err;
    if (sumi_session_eval(s, tokens, n, rows, &err)) fail_msg("%s", err.message);
}

static inline void truncate_to(sumi_session *s, int32_t n_tokens)
{
    sumi_error err;
    if (sumi_session_truncate(s, n_tokens, &err)) fail_msg("%s", err.message);
}

/* Tokens spread over the vocabulary, the same for one seed on every machine. */
static inline void fill_tokens(int32_t *tokens, int32_t n, int32_t vocab, uint64_t seed)
{
    for (int32_t i = 0; i < n; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        tokens[i] = (int32_t)((seed >> 33) % (uint64_t)vocab);
    }
}

static inline void *new_array(size_t n, size_t item_bytes)
{
    void *p = calloc(n, item_bytes);
    assert_non_null(p);
    return p;
}

static inline int32_t argmax(const float *logits, int32_t vocab)
{
    int32_t best = 0;
    for (int32_t i = 1; i < vocab; i++)
        if (logits[i] > logits[best]) best = i;
    return best;
}

/* Equality of bits; says where the first difference is. */
static inline void assert_same_floats(const float *a, const float *b, size_t n, const char *what)
{
    assert_non_null(a);
    assert_non_null(b);
    if (memcmp(a, b, n * sizeof *a) == 0) return;
    for (size_t i = 0; i < n; i++)
        if (memcmp(a + i, b + i, sizeof *a) != 0)
            fail_msg("%s: item %zu of %zu is %.9g, expected %.9g", what, i, n, (double)a[i], (double)b[i]);
}

/* Keys and values of all layers of the session, one after another: [layer][2][n_tokens][n_kv_heads][head_dim]. */
static inline float *read_cache(const engine *e, const sumi_session *s, size_t *n_floats_of_part)
{
    sumi_model_info info;
    sumi_model_get_info(e->model, &info);
    const size_t n = (size_t)sumi_session_n_tokens(s) * (size_t)info.n_kv_heads * (size_t)info.head_dim;
    float *cache = new_array(2 * (size_t)info.n_layers * n, sizeof *cache);
    sumi_error err;
    for (int32_t layer = 0; layer < info.n_layers; layer++)
        for (int32_t which = 0; which < 2; which++)
            if (sumi_session_read_kv(s, layer, which, cache + (size_t)(2 * layer + which) * n, n, &err))
                fail_msg("%s", err.message);
    *n_floats_of_part = n;
    return cache;
}

#endif
