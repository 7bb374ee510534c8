/* Files that parse but are not a model this build can run: each is refused with the name of what is wrong. Made
 * from a good file by leaving out, changing or adding one thing. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gguf/gguf.h"
#include "sumi.h"

typedef struct change {
    const char *drop_key, *drop_tensor;
    const char *int_key; /* gets int_value instead of its own */
    int64_t int_value;
    const char *add_tensor; /* F32 zeros of add_n elements, as [add_n] or, with is_column, [add_n, 1] */
    int64_t add_n;
    bool is_column;
    sumi_status status;
    const char *message; /* must be part of it */
} change;

static char folder[] = "/tmp/sumi-model-load-XXXXXX";
static sumi_device *device;

static bool is_name(sumi_str s, const char *name)
{
    return name && s.n_bytes == strlen(name) && memcmp(s.data, name, s.n_bytes) == 0;
}

static char *text_of(sumi_str s)
{
    static char name[128];
    snprintf(name, sizeof name, "%.*s", (int)s.n_bytes, s.data);
    return name;
}

static void write_changed(const sumi_gguf *g, const char *path, const change *c)
{
    sumi_gguf_writer *w;
    assert_int_equal(sumi_gguf_writer_new(&w, path, NULL), SUMI_OK);
    for (int64_t i = 0; i < sumi_gguf_n_keys(g); i++) {
        const sumi_gguf_key *k = sumi_gguf_key_at(g, i);
        if (is_name(k->name, c->drop_key)) continue;
        if (is_name(k->name, c->int_key))
            assert_int_equal(sumi_gguf_put_int(w, c->int_key, k->type, c->int_value), SUMI_OK);
        else
            assert_int_equal(sumi_gguf_put_key(w, k), SUMI_OK);
    }
    for (int64_t i = 0; i < sumi_gguf_n_tensors(g); i++) {
        const sumi_gguf_tensor *t = sumi_gguf_tensor_at(g, i);
        if (!is_name(t->name, c->drop_tensor))
            assert_int_equal(sumi_gguf_put_tensor(w, text_of(t->name), t->format->type, t->n_dims, t->dims), SUMI_OK);
    }
    const int64_t dims[2] = { c->add_n, 1 };
    if (c->add_tensor) sumi_gguf_put_tensor(w, c->add_tensor, SUMI_F32, c->is_column ? 2 : 1, dims);
    for (int64_t i = 0; i < sumi_gguf_n_tensors(g); i++) {
        const sumi_gguf_tensor *t = sumi_gguf_tensor_at(g, i);
        if (!is_name(t->name, c->drop_tensor))
            assert_int_equal(sumi_gguf_write_data(w, t->data, (size_t)t->n_bytes, NULL), SUMI_OK);
    }
    if (c->add_tensor) {
        float *zeros = calloc((size_t)c->add_n, sizeof *zeros);
        assert_int_equal(sumi_gguf_write_data(w, zeros, (size_t)c->add_n * sizeof *zeros, NULL), SUMI_OK);
        free(zeros);
    }
    assert_int_equal(sumi_gguf_writer_finish(w, NULL), SUMI_OK);
    sumi_gguf_writer_free(w);
}

/* Heads of the good file: 4 and 2 of 64 values, hidden 256, 3 layers. */
static const change changes[] = {
    { .status = SUMI_OK },
    { .add_tensor = "extra.scale", .add_n = 4, .status = SUMI_OK }, /* harmless ones are ignored */
    { .drop_tensor = "blk.1.ffn_up.weight", .status = SUMI_EFORMAT, .message = "blk.1.ffn_up.weight is missing" },
    { .drop_tensor = "token_embd.weight", .status = SUMI_EFORMAT, .message = "token_embd.weight" },
    { .drop_tensor = "blk.2.attn_q_norm.weight", .status = SUMI_EFORMAT, .message = "blk.2.attn_q_norm.weight" },
    { .add_tensor = "blk.0.attn_q.bias", .add_n = 256, .status = SUMI_EUNSUPPORTED, .message = "blk.0.attn_q.bias" },
    { .add_tensor = "output.bias", .add_n = 325, .status = SUMI_EUNSUPPORTED, .message = "output.bias" },
    { .add_tensor = "rope_freqs.weight", .add_n = 32, .status = SUMI_EUNSUPPORTED, .message = "rope_freqs.weight" },
    { .drop_tensor = "output_norm.weight",
      .add_tensor = "output_norm.weight",
      .add_n = 256,
      .is_column = true,
      .status = SUMI_EFORMAT,
      .message = "output_norm.weight has 2 dimensions" },
    { .drop_tensor = "output_norm.weight",
      .add_tensor = "output_norm.weight",
      .add_n = 128,
      .status = SUMI_EFORMAT,
      .message = "[128, 1, 1, 1]" },
    { .drop_key = "general.architecture", .status = SUMI_EFORMAT, .message = "general.architecture" },
    { .drop_key = "qwen3.block_count", .status = SUMI_EFORMAT, .message = "qwen3.block_count" },
    { .int_key = "qwen3.block_count", .int_value = 100000, .status = SUMI_EFORMAT, .message = "qwen3.block_count" },
    { .int_key = "qwen3.block_count", .int_value = 4, .status = SUMI_EFORMAT, .message = "blk.3." },
    { .int_key = "qwen3.attention.head_count", .int_value = 0, .status = SUMI_EFORMAT, .message = "head_count" },
    { .int_key = "qwen3.attention.head_count_kv",
      .int_value = 3,
      .status = SUMI_EFORMAT,
      .message = "head_count_kv" },
    { .int_key = "qwen3.attention.key_length", .int_value = 512, .status = SUMI_EFORMAT, .message = "key_length" },
    { .int_key = "qwen3.attention.key_length", .int_value = 60, .status = SUMI_EFORMAT, .message = "value_length" },
    { .int_key = "qwen3.context_length", .int_value = 0, .status = SUMI_EFORMAT, .message = "context_length" },
    { .int_key = "qwen3.embedding_length", .int_value = 128, .status = SUMI_EFORMAT, .message = "token_embd.weight" },
};

static void each_change_is_named(void **state)
{
    (void)state;
    char path[64];
    snprintf(path, sizeof path, "%s/model.gguf", folder);
    sumi_gguf *g;
    assert_int_equal(sumi_gguf_open(&g, SUMI_TEST_DATA "/golden/qwen3-q1.gguf", SUMI_Q2_AUTO, NULL), SUMI_OK);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        const change *c = &changes[i];
        write_changed(g, path, c);
        sumi_model *model;
        sumi_error err = { 0 };
        const sumi_status st = sumi_model_load(&model, path, device, NULL, &err);
        if (st != c->status || (c->message && !strstr(err.message, c->message)))
            fail_msg("change %d: status %d instead of %d: %s", (int)i, (int)st, (int)c->status, err.message);
        if (st) {
            assert_null(model);
            assert_memory_equal(err.message, path, strlen(path));
        }
        sumi_model_free(model);
        unlink(path);
    }
    sumi_gguf_close(g);
}

typedef struct progress {
    uint64_t done, total;
    int32_t n_calls, stop_at;
} progress;

static bool count_progress(void *user, uint64_t done_bytes, uint64_t total_bytes)
{
    progress *p = user;
    assert_true(done_bytes > p->done && done_bytes <= total_bytes);
    p->done = done_bytes;
    p->total = total_bytes;
    return ++p->n_calls != p->stop_at;
}

static void progress_reaches_its_total_and_can_stop(void **state)
{
    (void)state;
    progress p = { 0 };
    const sumi_model_options options = { count_progress, &p };
    sumi_model *model;
    const char *path = SUMI_TEST_DATA "/golden/qwen3-q1.gguf";
    assert_int_equal(sumi_model_load(&model, path, device, &options, NULL), SUMI_OK);
    assert_true(p.total > 0 && p.done == p.total);
    sumi_model_free(model);
    p = (progress){ .stop_at = 3 };
    assert_int_equal(sumi_model_load(&model, path, device, &options, NULL), SUMI_ECANCELLED);
    assert_null(model);
    assert_int_equal(p.n_calls, 3);
}

static int set_up(void **state)
{
    (void)state;
    return !mkdtemp(folder) || sumi_device_open(&device, "cpu", NULL, NULL);
}

static int tear_down(void **state)
{
    (void)state;
    sumi_device_free(device);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_change_is_named),
        cmocka_unit_test(progress_reaches_its_total_and_can_stop),
    };
    return cmocka_run_group_tests_name("load", tests, set_up, tear_down);
}
