/* Opening a model file: architecture, hyper-parameters, tokenizer, weights. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/load.h"

const char *sumi_version(void) { return SUMI_VERSION; }

sumi_model_options sumi_model_defaults(void) { return (sumi_model_options){ 0 }; }

static const sumi_arch *const archs[] = { &sumi_arch_qwen3 };
enum { N_ARCHS = sizeof archs / sizeof archs[0] };

static sumi_status choose_arch(sumi_model *m, sumi_error *err)
{
    sumi_str name;
    const sumi_status st = sumi_gguf_get_string(m->file, "general.architecture", true, &name, err);
    if (st) return st;
    char supported[256] = "";
    for (int i = 0; i < N_ARCHS; i++) {
        if (strlen(archs[i]->name) == name.n_bytes && memcmp(archs[i]->name, name.data, name.n_bytes) == 0) {
            m->arch = archs[i];
            return SUMI_OK;
        }
        const size_t used = strlen(supported);
        snprintf(supported + used, sizeof supported - used, "%s%s", i ? ", " : "", archs[i]->name);
    }
    return sumi_fail(err, SUMI_EUNSUPPORTED, "%s: architecture '%.*s' is not supported; supported: %s",
                     sumi_gguf_path(m->file), (int)(name.n_bytes < 64 ? name.n_bytes : 64), name.data, supported);
}

static char *copy_text(const char *data, size_t n_bytes)
{
    char *s = malloc(n_bytes + 1);
    if (!s) return NULL;
    memcpy(s, data, n_bytes);
    s[n_bytes] = 0;
    return s;
}

static int64_t n_weights(const sumi_gguf_tensor *t) { return t->dims[0] * t->dims[1] * t->dims[2] * t->dims[3]; }

/* Totals over all tensors: parameters, bytes, bytes of vectors once widened, and the type holding most weights. */
typedef struct totals {
    int64_t n_params;
    uint64_t n_bytes;
    size_t vector_bytes;
    const char *main_type;
} totals;

static totals count_tensors(const sumi_gguf *g)
{
    totals sum = { .main_type = "?" };
    int64_t per_type[SUMI_N_DTYPES] = { 0 }, most = 0;
    for (int64_t i = 0; i < sumi_gguf_n_tensors(g); i++) {
        const sumi_gguf_tensor *t = sumi_gguf_tensor_at(g, i);
        if (!t->format) continue; /* its size was not compared with the file's */
        sum.n_params += n_weights(t);
        sum.n_bytes += t->n_bytes;
        if (t->n_dims == 1) sum.vector_bytes += ((size_t)n_weights(t) * sizeof(float) + 63) / 64 * 64;
        int64_t *n = &per_type[t->format->type];
        *n += n_weights(t);
        if (*n > most) {
            most = *n;
            sum.main_type = t->format->name;
        }
    }
    return sum;
}

static sumi_status describe(sumi_model *m, const totals *sum, sumi_error *err)
{
    sumi_str name = { "", 0 };
    const sumi_status st = sumi_gguf_get_string(m->file, "general.name", false, &name, err);
    if (st) return st;
    m->name = copy_text(name.data, name.n_bytes);
    m->quant = copy_text(sum->main_type, strlen(sum->main_type));
    m->n_params = sum->n_params;
    return m->name && m->quant ? SUMI_OK : sumi_fail(err, SUMI_ENOMEM, "model: name");
}

static sumi_status read_vocab_rows(sumi_model *m, sumi_error *err)
{
    const sumi_gguf_tensor *embed = sumi_gguf_find_tensor(m->file, "token_embd.weight");
    if (!embed)
        return sumi_fail(err, SUMI_EFORMAT, "%s: tensor token_embd.weight is missing", sumi_gguf_path(m->file));
    const int32_t n_tokens = sumi_tokenizer_n_vocab(m->tokenizer);
    if (embed->dims[1] < n_tokens || embed->dims[1] > INT32_MAX / 4)
        return sumi_fail(err, SUMI_EFORMAT, "%s: token_embd.weight has %" PRId64 " rows for %" PRId32 " tokens",
                         sumi_gguf_path(m->file), embed->dims[1], n_tokens);
    m->config.vocab = (int32_t)embed->dims[1];
    return SUMI_OK;
}

static sumi_status load_weights(sumi_model *m, const sumi_model_options *options, sumi_error *err)
{
    const totals sum = count_tensors(m->file);
    sumi_status st = describe(m, &sum, err);
    if (st) return st;
    if ((st = sumi_memory_check(sum.n_bytes + sum.vector_bytes, err, "%s: weights", sumi_gguf_path(m->file))))
        return st;
    m->layers = calloc((size_t)m->config.n_layers, sizeof *m->layers);
    if (!m->layers) return sumi_fail(err, SUMI_ENOMEM, "model: %" PRId32 " layers", m->config.n_layers);
    if ((st = sumi_buffer_new(&m->vectors, m->device, sum.vector_bytes + 64, err))) return st;
    sumi_loader loader = { .model = m, .options = options, .total_bytes = sum.n_bytes, .err = err };
    if ((st = sumi_refuse_unknown_terms(&loader))) return st;
    st = m->arch->load(&loader);
    m->weight_bytes += loader.vector_bytes;
    return st;
}

/* File, tokenizer, and for a device (not NULL) everything else. */
static sumi_status open_model(sumi_model *m, const char *path, sumi_device *device, const sumi_model_options *options,
                              sumi_error *err)
{
    sumi_status st;
    if ((st = sumi_gguf_open(&m->file, path, SUMI_Q2_AUTO, err))) return st;
    if (!device) return sumi_tokenizer_new(&m->tokenizer, m->file, err);
    m->device = device;
    if ((st = choose_arch(m, err))) return st;
    if ((st = sumi_config_read(&m->config, m->file, m->arch->name, err))) return st;
    if ((st = sumi_tokenizer_new(&m->tokenizer, m->file, err))) return st;
    if ((st = read_vocab_rows(m, err))) return st;
    return load_weights(m, options, err);
}

static sumi_status load(sumi_model **out, const char *path, sumi_device *device, const sumi_model_options *options,
                        sumi_error *err)
{
    sumi_model *m = calloc(1, sizeof *m);
    if (!m) return sumi_fail(err, SUMI_ENOMEM, "model: %zu bytes", sizeof *m);
    const sumi_status st = open_model(m, path, device, options, err);
    if (st) {
        sumi_model_free(m);
        return st;
    }
    *out = m;
    return SUMI_OK;
}

sumi_status sumi_model_load(sumi_model **out, const char *path, sumi_device *device,
                            const sumi_model_options *options, sumi_error *err)
{
    if (!out) return sumi_fail(err, SUMI_EINVAL, "model: out is NULL");
    *out = NULL;
    if (!path || !device) return sumi_fail(err, SUMI_EINVAL, "model: %s is NULL", path ? "device" : "path");
    const sumi_model_options defaults = sumi_model_defaults();
    return load(out, path, device, options ? options : &defaults, err);
}

sumi_status sumi_model_load_vocab(sumi_model **out, const char *path, sumi_error *err)
{
    if (!out) return sumi_fail(err, SUMI_EINVAL, "model: out is NULL");
    *out = NULL;
    if (!path) return sumi_fail(err, SUMI_EINVAL, "model: path is NULL");
    return load(out, path, NULL, NULL, err);
}

static void free_layer(sumi_layer *l)
{
    sumi_weight_free(l->qkv);
    sumi_weight_free(l->attn_output);
    sumi_weight_free(l->gate_up);
    sumi_weight_free(l->ffn_down);
}

void sumi_model_free(sumi_model *model)
{
    if (!model) return;
    for (int32_t i = 0; model->layers && i < model->config.n_layers; i++) free_layer(&model->layers[i]);
    free(model->layers);
    if (model->output != model->embed) sumi_weight_free(model->output);
    sumi_weight_free(model->embed);
    sumi_buffer_free(model->vectors);
    sumi_tokenizer_free(model->tokenizer);
    sumi_gguf_close(model->file);
    free(model->name);
    free(model->quant);
    free(model);
}

void sumi_model_get_info(const sumi_model *model, sumi_model_info *info)
{
    if (!info) return;
    *info = (sumi_model_info){ .arch = "", .name = "", .quant = "" };
    if (!model) return;
    info->vocab = sumi_tokenizer_n_vocab(model->tokenizer);
    if (!model->device) return;
    const sumi_config *c = &model->config;
    info->arch = model->arch->name;
    info->name = model->name;
    info->quant = model->quant;
    info->n_params = model->n_params;
    info->weight_bytes = model->weight_bytes;
    info->kv_bytes_per_token_f16 = sumi_kv_pool_bytes_per_block(c, SUMI_KV_F16) / SUMI_KV_BLOCK_TOKENS;
    info->n_layers = c->n_layers;
    info->n_heads = c->n_heads;
    info->n_kv_heads = c->n_kv_heads;
    info->head_dim = c->head_dim;
    info->hidden = c->hidden;
    info->ffn = c->ffn;
    info->vocab = c->vocab;
    info->max_tokens = c->max_tokens;
}

void sumi_model_encode(const sumi_model *model, sumi_encoder *e, const sumi_pass *pass)
{
    model->arch->encode(model, e, pass);
}
