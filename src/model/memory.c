/* The memory a pass works in: cache pools of all layers, and activations. */
#include <inttypes.h>

#include "base/checked.h"
#include "model/load.h"

static uint64_t layer_block_items(const sumi_config *c)
{
    return (uint64_t)c->n_kv_heads * SUMI_KV_BLOCK_TOKENS * (uint64_t)c->head_dim;
}

static uint64_t item_bytes(sumi_kv_type type) { return type == SUMI_KV_F16 ? 2 : 4; }

uint64_t sumi_kv_pool_bytes_per_block(const sumi_config *config, sumi_kv_type type)
{
    return 2 * (uint64_t)config->n_layers * layer_block_items(config) * item_bytes(type);
}

sumi_status sumi_kv_pool_init(sumi_kv_pool *pool, const sumi_model *model, int32_t n_blocks, sumi_kv_type type,
                              sumi_error *err)
{
    *pool = (sumi_kv_pool){ .n_blocks = n_blocks, .type = type };
    uint64_t n_bytes;
    if (n_blocks < 1 ||
        !sumi_mul_u64(sumi_kv_pool_bytes_per_block(&model->config, type) / 2, (uint64_t)n_blocks, &n_bytes))
        return sumi_fail(err, SUMI_EINVAL, "kv: %" PRId32 " blocks", n_blocks);
    sumi_status st = sumi_buffer_new(&pool->k, model->device, (size_t)n_bytes, err);
    if (st == SUMI_OK) st = sumi_buffer_new(&pool->v, model->device, (size_t)n_bytes, err);
    if (st) sumi_kv_pool_deinit(pool);
    return st;
}

void sumi_kv_pool_deinit(sumi_kv_pool *pool)
{
    sumi_buffer_free(pool->k);
    sumi_buffer_free(pool->v);
    *pool = (sumi_kv_pool){ 0 };
}

sumi_view sumi_kv_layer(const sumi_kv_pool *pool, sumi_buffer *buffer, const sumi_config *config, int32_t i_layer)
{
    return (sumi_view){ buffer, (size_t)((uint64_t)i_layer * (uint64_t)pool->n_blocks * layer_block_items(config) *
                                         item_bytes(pool->type)) };
}

/* Take n_floats per token out of the buffer being laid out, from a 64-byte boundary. */
static sumi_view take(size_t *size_bytes, int32_t max_tokens, int64_t n_floats)
{
    const sumi_view v = { NULL, *size_bytes };
    *size_bytes += ((size_t)max_tokens * (size_t)n_floats * sizeof(float) + 63) / 64 * 64;
    return v;
}

sumi_status sumi_scratch_init(sumi_scratch *scratch, const sumi_model *model, int32_t max_tokens, sumi_error *err)
{
    const sumi_config *c = &model->config;
    const int64_t q = (int64_t)c->n_heads * c->head_dim, kv = (int64_t)c->n_kv_heads * c->head_dim;
    *scratch = (sumi_scratch){ .max_tokens = max_tokens };
    const struct {
        sumi_view *view;
        int64_t n_floats;
    } parts[] = {
        { &scratch->hidden, c->hidden }, { &scratch->normed, c->hidden },
        { &scratch->qkv, q + 2 * kv },   { &scratch->q, q },
        { &scratch->attn, q },           { &scratch->gate_up, 2 * (int64_t)c->ffn },
        { &scratch->act, c->ffn },
    };
    size_t size_bytes = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        *parts[i].view = take(&size_bytes, max_tokens, parts[i].n_floats);
    const sumi_status st = sumi_buffer_new(&scratch->buffer, model->device, size_bytes, err);
    if (st) return st;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) parts[i].view->buffer = scratch->buffer;
    return SUMI_OK;
}

void sumi_scratch_deinit(sumi_scratch *scratch)
{
    sumi_buffer_free(scratch->buffer);
    *scratch = (sumi_scratch){ 0 };
}
