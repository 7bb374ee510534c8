/* Qwen3, dense: grouped-query attention with normalised queries and keys, SwiGLU feed-forward, pre-norm.
 *
 *   x = E[id]
 *   per layer:  a = RMS(x; attn_norm)
 *               q, k, v = Wq a, Wk a, Wv a;  q, k = rope(RMS(q; q_norm)), rope(RMS(k; k_norm))   per head
 *               x = x + Wo attention(q, K, V)
 *               f = RMS(x; ffn_norm);  x = x + Wdown (silu(Wgate f) * (Wup f))
 *   logits = Wout RMS(x; output_norm)                                       Wout = E when tied
 *
 * Source: Qwen3 technical report (2025) and the HF transformers implementation. */
#include "model/load.h"

static void encode_attention(const sumi_model *m, sumi_encoder *e, const sumi_pass *p, int32_t i_layer)
{
    const sumi_config *c = &m->config;
    const sumi_layer *l = &m->layers[i_layer];
    const sumi_scratch *s = p->scratch;
    const sumi_view k_pool = sumi_kv_layer(p->kv, p->kv->k, c, i_layer);
    const sumi_view v_pool = sumi_kv_layer(p->kv, p->kv->v, c, i_layer);

    sumi_op_rmsnorm(e, &(sumi_rmsnorm_args){ .y = s->normed,
                                             .x = s->hidden,
                                             .w = l->attn_norm,
                                             .n_rows = p->n_tokens,
                                             .n_cols = c->hidden,
                                             .eps = c->eps });
    sumi_op_matmul(
        e, &(sumi_matmul_args){ .y = s->qkv, .x = s->normed, .w = l->qkv, .n_tokens = p->n_tokens, .mode = p->mode });
    sumi_op_qkv_rope_cache(e, &(sumi_qkv_rope_cache_args){ .q = s->q,
                                                           .qkv = s->qkv,
                                                           .k_pool = k_pool,
                                                           .v_pool = v_pool,
                                                           .slots = p->slots,
                                                           .positions = p->positions,
                                                           .q_norm = l->q_norm,
                                                           .k_norm = l->k_norm,
                                                           .cos = { p->rope->cos, 0 },
                                                           .sin = { p->rope->sin, 0 },
                                                           .n_tokens = p->n_tokens,
                                                           .n_heads = c->n_heads,
                                                           .n_kv_heads = c->n_kv_heads,
                                                           .head_dim = c->head_dim,
                                                           .n_rot = c->rope.n_rot,
                                                           .n_positions = p->rope->n_positions,
                                                           .n_blocks = p->kv->n_blocks,
                                                           .eps = c->eps,
                                                           .rope = SUMI_ROPE_HALF_SPLIT,
                                                           .kv_type = p->kv->type });
    sumi_op_attention(e, &(sumi_attention_args){ .out = s->attn,
                                                 .q = s->q,
                                                 .k_pool = k_pool,
                                                 .v_pool = v_pool,
                                                 .first_row = p->first_row,
                                                 .block_tables = p->block_tables,
                                                 .context_lens = p->context_lens,
                                                 .n_tokens = p->n_tokens,
                                                 .n_seqs = p->n_seqs,
                                                 .max_blocks = p->max_blocks,
                                                 .n_blocks = p->kv->n_blocks,
                                                 .n_heads = c->n_heads,
                                                 .n_kv_heads = c->n_kv_heads,
                                                 .head_dim = c->head_dim,
                                                 .scale = c->attention_scale,
                                                 .kv_type = p->kv->type });
    sumi_op_matmul(e, &(sumi_matmul_args){ .y = s->hidden,
                                           .x = s->attn,
                                           .residual = s->hidden,
                                           .w = l->attn_output,
                                           .n_tokens = p->n_tokens,
                                           .mode = p->mode });
}

static void encode_feed_forward(const sumi_model *m, sumi_encoder *e, const sumi_pass *p, int32_t i_layer)
{
    const sumi_config *c = &m->config;
    const sumi_layer *l = &m->layers[i_layer];
    const sumi_scratch *s = p->scratch;

    sumi_op_rmsnorm(e, &(sumi_rmsnorm_args){ .y = s->normed,
                                             .x = s->hidden,
                                             .w = l->ffn_norm,
                                             .n_rows = p->n_tokens,
                                             .n_cols = c->hidden,
                                             .eps = c->eps });
    sumi_op_matmul(e,
                   &(sumi_matmul_args){
                       .y = s->gate_up, .x = s->normed, .w = l->gate_up, .n_tokens = p->n_tokens, .mode = p->mode });
    sumi_op_silu_mul(e, &(sumi_silu_mul_args){ .y = s->act, .x = s->gate_up, .n_tokens = p->n_tokens, .n = c->ffn });
    sumi_op_matmul(e, &(sumi_matmul_args){ .y = s->hidden,
                                           .x = s->act,
                                           .residual = s->hidden,
                                           .w = l->ffn_down,
                                           .n_tokens = p->n_tokens,
                                           .mode = p->mode });
}

static void encode_tail(const sumi_model *m, sumi_encoder *e, const sumi_pass *p)
{
    const sumi_config *c = &m->config;
    sumi_view rows = p->scratch->hidden;
    rows.offset_bytes += (size_t)p->first_logit_row * (size_t)c->hidden * sizeof(float);

    sumi_op_rmsnorm(e, &(sumi_rmsnorm_args){ .y = p->scratch->normed,
                                             .x = rows,
                                             .w = m->output_norm,
                                             .n_rows = p->n_logit_rows,
                                             .n_cols = c->hidden,
                                             .eps = c->eps });
    sumi_op_matmul(
        e,
        &(sumi_matmul_args){
            .y = p->logits, .x = p->scratch->normed, .w = m->output, .n_tokens = p->n_logit_rows, .mode = p->mode });
    if (p->argmax.buffer)
        sumi_op_argmax(e, &(sumi_argmax_args){
                              .ids = p->argmax, .x = p->logits, .n_rows = p->n_logit_rows, .n_cols = c->vocab });
}

static void encode(const sumi_model *m, sumi_encoder *e, const sumi_pass *p)
{
    sumi_op_embed(
        e, &(sumi_embed_args){ .y = p->scratch->hidden, .ids = p->ids, .table = m->embed, .n_tokens = p->n_tokens });
    const bool is_partial = p->stop_after_layers > 0 && p->stop_after_layers <= m->config.n_layers;
    const int32_t n_layers = is_partial ? p->stop_after_layers : m->config.n_layers;
    for (int32_t i = 0; i < n_layers; i++) {
        encode_attention(m, e, p, i);
        encode_feed_forward(m, e, p, i);
    }
    if (p->n_logit_rows > 0 && !is_partial) encode_tail(m, e, p);
}

static sumi_status load_layer(sumi_loader *l, int32_t i, sumi_layer *layer)
{
    const sumi_config *c = &l->model->config;
    const int32_t q = c->n_heads * c->head_dim, kv = c->n_kv_heads * c->head_dim;
    sumi_status st;
    if ((st = sumi_load_vector(l, &layer->attn_norm, i, "attn_norm.weight", c->hidden))) return st;
    if ((st = sumi_load_vector(l, &layer->q_norm, i, "attn_q_norm.weight", c->head_dim))) return st;
    if ((st = sumi_load_vector(l, &layer->k_norm, i, "attn_k_norm.weight", c->head_dim))) return st;
    if ((st = sumi_load_vector(l, &layer->ffn_norm, i, "ffn_norm.weight", c->hidden))) return st;
    const sumi_part_name qkv[] = { { "attn_q.weight", q }, { "attn_k.weight", kv }, { "attn_v.weight", kv } };
    const sumi_part_name output[] = { { "attn_output.weight", c->hidden } };
    const sumi_part_name gate_up[] = { { "ffn_gate.weight", c->ffn }, { "ffn_up.weight", c->ffn } };
    const sumi_part_name down[] = { { "ffn_down.weight", c->hidden } };
    const sumi_part_name fused[] = { { "attn_qkv.weight", q + 2 * kv } };
    if (sumi_has_tensor(l, i, fused[0].name))
        st = sumi_load_matrix(l, &layer->qkv, i, fused, 1, c->hidden);
    else
        st = sumi_load_matrix(l, &layer->qkv, i, qkv, 3, c->hidden);
    if (st) return st;
    if ((st = sumi_load_matrix(l, &layer->attn_output, i, output, 1, q))) return st;
    if ((st = sumi_load_matrix(l, &layer->gate_up, i, gate_up, 2, c->hidden))) return st;
    return sumi_load_matrix(l, &layer->ffn_down, i, down, 1, c->ffn);
}

static sumi_status load(sumi_loader *l)
{
    sumi_model *m = l->model;
    const sumi_part_name embed[] = { { "token_embd.weight", m->config.vocab } };
    const sumi_part_name output[] = { { "output.weight", m->config.vocab } };
    sumi_status st;
    if ((st = sumi_load_matrix(l, &m->embed, SUMI_NO_LAYER, embed, 1, m->config.hidden))) return st;
    if ((st = sumi_load_vector(l, &m->output_norm, SUMI_NO_LAYER, "output_norm.weight", m->config.hidden))) return st;
    if (sumi_has_tensor(l, SUMI_NO_LAYER, output[0].name)) {
        if ((st = sumi_load_matrix(l, &m->output, SUMI_NO_LAYER, output, 1, m->config.hidden))) return st;
    } else {
        m->output = m->embed;
    }
    for (int32_t i = 0; i < m->config.n_layers; i++)
        if ((st = load_layer(l, i, &m->layers[i]))) return st;
    return SUMI_OK;
}

const sumi_arch sumi_arch_qwen3 = { .name = "qwen3", .load = load, .encode = encode };
