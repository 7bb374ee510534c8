/* Hyper-parameters from a file's keys, each within bounds that the rest of the code relies on. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/load.h"

/* Reads of "ARCH.NAME"; after the first failure the others do nothing. */
typedef struct reader {
    const sumi_gguf *g;
    const char *arch;
    sumi_status status;
    sumi_error *err;
} reader;

enum { MAX_KEY = 128, REQUIRED = 1, OPTIONAL = 0 };

static void key_name(char *out, const reader *r, const char *name) { snprintf(out, MAX_KEY, "%s.%s", r->arch, name); }

static int32_t read_int(reader *r, const char *name, bool required, int64_t fallback, int64_t min, int64_t max)
{
    char key[MAX_KEY];
    int64_t v = fallback;
    key_name(key, r, name);
    if (r->status == SUMI_OK) r->status = sumi_gguf_get_int(r->g, key, required, min, max, &v, r->err);
    return (int32_t)v;
}

static float read_float(reader *r, const char *name, bool required, float fallback, float min, float max)
{
    char key[MAX_KEY];
    float v = fallback;
    key_name(key, r, name);
    if (r->status) return fallback;
    r->status = sumi_gguf_get_float(r->g, key, required, &v, r->err);
    if (r->status == SUMI_OK && !(v >= min && v <= max))
        r->status = sumi_fail(r->err, SUMI_EFORMAT, "%s: %s is %g, must be %g to %g", sumi_gguf_path(r->g), key,
                              (double)v, (double)min, (double)max);
    return v;
}

static bool is_text(sumi_str s, const char *text)
{
    return s.n_bytes == strlen(text) && memcmp(s.data, text, s.n_bytes) == 0;
}

/* Source for YaRN: Peng et al. 2023, "YaRN", sections 3.2 to 3.4, with the defaults of ggml. */
static void read_rope(reader *r, sumi_rope_config *rope, const sumi_config *c)
{
    rope->base = read_float(r, "rope.freq_base", OPTIONAL, 10000.0f, 1.0f, 1e12f);
    rope->n_rot = read_int(r, "rope.dimension_count", OPTIONAL, c->head_dim, 2, c->head_dim);
    if (r->status == SUMI_OK && rope->n_rot % 2)
        r->status = sumi_fail(r->err, SUMI_EFORMAT, "%s: %s.rope.dimension_count is %" PRId32 ", must be even",
                              sumi_gguf_path(r->g), r->arch, rope->n_rot);
    sumi_str type = { "linear", 6 };
    char key[MAX_KEY];
    key_name(key, r, "rope.scaling.type");
    if (r->status == SUMI_OK) r->status = sumi_gguf_get_string(r->g, key, false, &type, r->err);
    const bool none = is_text(type, "none");
    rope->yarn = is_text(type, "yarn");
    if (r->status == SUMI_OK && !none && !rope->yarn && !is_text(type, "linear"))
        r->status = sumi_fail(r->err, SUMI_EUNSUPPORTED, "%s: %s is '%.*s'; supported: none, linear, yarn",
                              sumi_gguf_path(r->g), key, (int)(type.n_bytes < 40 ? type.n_bytes : 40), type.data);
    float factor = read_float(r, "rope.scale_linear", OPTIONAL, 0, 0, 1e6f); /* older name */
    factor = read_float(r, "rope.scaling.factor", OPTIONAL, factor, 0, 1e6f);
    if (none || factor == 0) factor = 1;
    rope->freq_scale = 1.0f / factor;
    rope->magnitude = read_float(r, "rope.scaling.attn_factor", OPTIONAL, 1, 1e-6f, 1e6f);
    rope->original_max_tokens =
        read_int(r, "rope.scaling.original_context_length", OPTIONAL, c->max_tokens, 1, INT32_MAX);
    rope->yarn_ext_factor = read_float(r, "rope.scaling.yarn_ext_factor", OPTIONAL, 1, 0, 1);
    rope->yarn_beta_fast = read_float(r, "rope.scaling.yarn_beta_fast", OPTIONAL, 32, 1e-3f, 1e6f);
    rope->yarn_beta_slow = read_float(r, "rope.scaling.yarn_beta_slow", OPTIONAL, 1, 1e-3f, 1e6f);
    if (!rope->yarn) return;
    const float log_multiplier = read_float(r, "rope.scaling.yarn_log_multiplier", OPTIONAL, 0, 0, 1e3f);
    const float log_factor = logf(factor);
    rope->magnitude *= (1 + 0.1f * log_factor) / (1 + 0.1f * log_multiplier * log_factor);
}

static void check_heads(reader *r, const sumi_config *c)
{
    const char *path = sumi_gguf_path(r->g);
    if (r->status) return;
    if (c->n_heads % c->n_kv_heads)
        r->status = sumi_fail(r->err, SUMI_EFORMAT,
                              "%s: %s.attention.head_count %" PRId32 " is not a multiple of head_count_kv %" PRId32,
                              path, r->arch, c->n_heads, c->n_kv_heads);
    else if (c->head_dim < 8 || c->head_dim > 256 || c->head_dim % 8)
        r->status =
            sumi_fail(r->err, SUMI_EUNSUPPORTED,
                      "%s: heads of %" PRId32 " values; supported: multiples of 8 up to 256", path, c->head_dim);
    else if ((int64_t)c->n_heads * c->head_dim > INT32_MAX / 4)
        r->status = sumi_fail(r->err, SUMI_EFORMAT, "%s: %" PRId32 " heads of %" PRId32 " values are too many", path,
                              c->n_heads, c->head_dim);
}

sumi_status sumi_config_read(sumi_config *c, const sumi_gguf *g, const char *arch, sumi_error *err)
{
    reader r = { .g = g, .arch = arch, .err = err };
    c->n_layers = read_int(&r, "block_count", REQUIRED, 0, 1, 1024);
    c->hidden = read_int(&r, "embedding_length", REQUIRED, 0, 1, 1 << 20);
    c->ffn = read_int(&r, "feed_forward_length", REQUIRED, 0, 1, 1 << 22);
    c->n_heads = read_int(&r, "attention.head_count", REQUIRED, 0, 1, 1 << 16);
    c->n_kv_heads = read_int(&r, "attention.head_count_kv", OPTIONAL, c->n_heads, 1, 1 << 16);
    c->max_tokens = read_int(&r, "context_length", REQUIRED, 0, 1, 1 << 27);
    if (r.status) return r.status;
    c->head_dim = read_int(&r, "attention.key_length", OPTIONAL, c->hidden / c->n_heads, 8, 256);
    read_int(&r, "attention.value_length", OPTIONAL, c->head_dim, c->head_dim, c->head_dim);
    read_int(&r, "attention.sliding_window", OPTIONAL, 0, 0, 0); /* Qwen3 files have none; another value is refused */
    c->eps = read_float(&r, "attention.layer_norm_rms_epsilon", REQUIRED, 0, 0, 1);
    c->attention_scale = read_float(&r, "attention.scale", OPTIONAL, 0, 0, 1e6f);
    check_heads(&r, c);
    if (r.status) return r.status;
    if (c->attention_scale == 0) c->attention_scale = 1.0f / sqrtf((float)c->head_dim);
    read_rope(&r, &c->rope, c);
    return r.status;
}
