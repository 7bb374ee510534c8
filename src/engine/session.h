/* One conversation: cache, scratch memory, logits and token history. Private to the engine. */
#ifndef SUMI_ENGINE_SESSION_H
#define SUMI_ENGINE_SESSION_H

#include "model/model.h"

/* Places of the small integer inputs of a pass, in one buffer so that one copy sends them all. */
typedef struct sumi_inputs {
    sumi_buffer *buffer;
    uint32_t *staging; /* host copy, n_items */
    size_t n_items;
    size_t ids, positions, slots, first_row, context_len, block_table; /* item offsets */
} sumi_inputs;

struct sumi_session {
    sumi_model *model;
    sumi_mode mode;
    int32_t max_tokens, max_blocks, max_rows; /* max_rows: of one pass */
    int32_t n_tokens;
    int32_t *tokens;  /* [max_tokens] history */
    uint32_t *blocks; /* [max_blocks] block table; block i of the private pool is logical block i */
    sumi_kv_pool kv;
    sumi_rope_table rope;
    sumi_scratch scratch;
    sumi_inputs inputs;
    sumi_encoder *encoder;
    sumi_buffer *logits, *argmax; /* on the device, max_logit_rows rows */
    int32_t max_logit_rows;
    float *host_logits; /* [n_logits][vocab], grows only */
    size_t max_host_floats;
    int32_t n_logits;
};

/* Like sumi_session_eval, but asks `go_on` (may be NULL) between passes whether to continue; what was evaluated
 * before a failure stays in the cache. */
typedef bool sumi_go_on_fn(void *user);
sumi_status sumi_session_append(sumi_session *s, const int32_t *tokens, int32_t n, sumi_logits_rows rows,
                                sumi_go_on_fn *go_on, void *user, sumi_error *err);

#endif
