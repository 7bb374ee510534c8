/* A loaded model: hyper-parameters, weights on a device, tokenizer; and its forward pass.
 *
 * model.c opens the file; config.c reads its keys, load.c its tensors; one file per architecture (qwen3.c) turns a
 * pass into ops. */
#ifndef SUMI_MODEL_MODEL_H
#define SUMI_MODEL_MODEL_H

#include "sumi.h"
#include "gguf/gguf.h"
#include "text/tokenizer.h"

/* RoPE angles of section "RoPE" in docs/models.md: none or linear scaling, or YaRN. */
typedef struct sumi_rope_config {
    float base;
    int32_t n_rot;
    float freq_scale; /* 1 / factor */
    bool yarn;
    float yarn_ext_factor, yarn_beta_fast, yarn_beta_slow;
    float magnitude; /* cos and sin are multiplied by it */
    int32_t original_max_tokens;
} sumi_rope_config;

typedef struct sumi_config {
    int32_t n_layers, n_heads, n_kv_heads, head_dim, hidden, ffn, vocab, max_tokens;
    float eps, attention_scale;
    sumi_rope_config rope;
} sumi_config;

/* One transformer block. Vectors are float32 places in the model's vector buffer. */
typedef struct sumi_layer {
    sumi_view attn_norm, q_norm, k_norm, ffn_norm;
    sumi_weight *qkv, *attn_output, *gate_up, *ffn_down;
} sumi_layer;

typedef struct sumi_arch sumi_arch;

struct sumi_model {
    sumi_gguf *file;
    sumi_tokenizer *tokenizer;
    sumi_device *device; /* borrowed; NULL for a vocabulary without weights */
    const sumi_arch *arch;
    sumi_config config;
    char *name, *quant; /* for sumi_model_info */
    int64_t n_params;
    uint64_t weight_bytes;
    sumi_buffer *vectors; /* all norm weights */
    sumi_view output_norm;
    sumi_weight *embed, *output; /* the same one when tied */
    sumi_layer *layers;          /* [n_layers] */
};

/* KV pools of all layers: [layer][block][kv_head][32][head_dim]. */
typedef struct sumi_kv_pool {
    sumi_buffer *k, *v;
    int32_t n_blocks; /* of each layer */
    sumi_kv_type type;
} sumi_kv_pool;

sumi_status sumi_kv_pool_init(sumi_kv_pool *pool, const sumi_model *model, int32_t n_blocks, sumi_kv_type type,
                              sumi_error *err);
void sumi_kv_pool_deinit(sumi_kv_pool *pool);                                        /* accepts a zero pool */
uint64_t sumi_kv_pool_bytes_per_block(const sumi_config *config, sumi_kv_type type); /* K and V, all layers */

/* cos and sin of every position: [n_positions][n_rot/2] each, angles in double, stored as float32. */
typedef struct sumi_rope_table {
    sumi_buffer *cos, *sin;
    int32_t n_positions;
} sumi_rope_table;

sumi_status sumi_rope_table_init(sumi_rope_table *table, const sumi_model *model, int32_t n_positions,
                                 sumi_error *err);
void sumi_rope_table_deinit(sumi_rope_table *table);

/* Activations of a pass of at most max_tokens rows; layout private to the model layer. */
typedef struct sumi_scratch {
    sumi_buffer *buffer;
    int32_t max_tokens;
    sumi_view hidden, normed, qkv, q, attn, gate_up, act;
} sumi_scratch;

sumi_status sumi_scratch_init(sumi_scratch *scratch, const sumi_model *model, int32_t max_tokens, sumi_error *err);
void sumi_scratch_deinit(sumi_scratch *scratch);

/* One forward pass over a ragged batch: prefill, decode and verify are this with other row counts and tails. */
typedef struct sumi_pass {
    int32_t n_tokens, n_seqs, max_blocks;
    sumi_view ids, positions, slots;                 /* u32[n_tokens] */
    sumi_view first_row, block_tables, context_lens; /* as in sumi_attention_args */
    const sumi_kv_pool *kv;
    const sumi_rope_table *rope;
    const sumi_scratch *scratch;
    sumi_mode mode;
    /* Tail: rows [first_logit_row, first_logit_row + n_logit_rows) get logits [n_logit_rows][vocab]; 0 rows: none.
     * argmax (may be absent): u32[n_logit_rows]. */
    int32_t first_logit_row, n_logit_rows;
    int32_t stop_after_layers; /* > 0: only so many layers and no tail, to look for where numbers go bad */
    sumi_view logits, argmax;
} sumi_pass;

/* Record the pass. Errors stay in the encoder until sumi_submit. */
void sumi_model_encode(const sumi_model *model, sumi_encoder *e, const sumi_pass *pass);

/* An architecture: how to read its tensors, and its equations. */
typedef struct sumi_loader sumi_loader; /* load.h */

struct sumi_arch {
    const char *name;
    sumi_status (*load)(sumi_loader *loader);
    void (*encode)(const sumi_model *model, sumi_encoder *e, const sumi_pass *pass);
};

extern const sumi_arch sumi_arch_qwen3;

#endif
