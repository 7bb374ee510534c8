#include "engine/session.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/half.h"
#include "base/memory.h"

enum {
    MAX_ROWS = 256,            /* rows of one pass: enough to reuse each weight, small enough to stay responsive */
    MAX_LOGIT_BYTES = 32 << 20 /* of one pass; more rows are evaluated in several passes */
};

sumi_session_options sumi_session_defaults(void) { return (sumi_session_options){ 0 }; }

/* ---- Creation ------------------------------------------------------------------------------------------ */

static int32_t min_i32(int32_t a, int32_t b) { return a < b ? a : b; }

static sumi_status new_inputs(sumi_session *s, sumi_error *err)
{
    sumi_inputs *in = &s->inputs;
    const size_t rows = (size_t)s->max_rows;
    in->ids = 0;
    in->positions = rows;
    in->slots = 2 * rows;
    in->first_row = 3 * rows;
    in->context_len = in->first_row + 2;
    in->block_table = in->context_len + 1;
    in->n_items = in->block_table + (size_t)s->max_blocks;
    in->staging = calloc(in->n_items, sizeof *in->staging);
    if (!in->staging) return sumi_fail(err, SUMI_ENOMEM, "session: %zu inputs", in->n_items);
    return sumi_buffer_new(&in->buffer, s->model->device, in->n_items * sizeof *in->staging, err);
}

static sumi_status new_history(sumi_session *s, sumi_error *err)
{
    s->tokens = calloc((size_t)s->max_tokens, sizeof *s->tokens);
    s->blocks = calloc((size_t)s->max_blocks, sizeof *s->blocks);
    if (!s->tokens || !s->blocks)
        return sumi_fail(err, SUMI_ENOMEM, "session: history of %" PRId32 " tokens", s->max_tokens);
    for (int32_t i = 0; i < s->max_blocks; i++) s->blocks[i] = (uint32_t)i;
    return SUMI_OK;
}

/* Cache, angles and scratch against what is free, before any of it is allocated. */
static sumi_status check_memory(const sumi_session *s, sumi_kv_type kv_type, sumi_error *err)
{
    const sumi_config *c = &s->model->config;
    uint64_t kv, total;
    if (!sumi_mul_u64(sumi_kv_pool_bytes_per_block(c, kv_type), (uint64_t)s->max_blocks, &kv))
        return sumi_fail(err, SUMI_ENOMEM, "session: cache of %" PRId32 " tokens", s->max_tokens);
    const uint64_t angles = (uint64_t)s->max_tokens * (uint64_t)c->rope.n_rot * sizeof(float);
    const uint64_t row = ((uint64_t)c->hidden * 2 + (uint64_t)c->ffn * 3 +
                          (uint64_t)c->head_dim * (3 * (uint64_t)c->n_heads + 2 * (uint64_t)c->n_kv_heads)) *
                         sizeof(float);
    if (!sumi_add_u64(kv, angles + row * (uint64_t)s->max_rows, &total)) total = UINT64_MAX;
    return sumi_memory_check(total, err, "session: %" PRId32 " tokens of context", s->max_tokens);
}

static sumi_status init(sumi_session *s, sumi_error *err)
{
    const sumi_config *c = &s->model->config;
    const sumi_kv_type kv_type = s->mode == SUMI_EXACT ? SUMI_KV_F32 : SUMI_KV_F16;
    sumi_status st;
    if ((st = check_memory(s, kv_type, err))) return st;
    if ((st = sumi_kv_pool_init(&s->kv, s->model, s->max_blocks, kv_type, err))) return st;
    if ((st = sumi_rope_table_init(&s->rope, s->model, s->max_tokens, err))) return st;
    if ((st = sumi_scratch_init(&s->scratch, s->model, s->max_rows, err))) return st;
    if ((st = sumi_encoder_new(&s->encoder, s->model->device, err))) return st;
    if ((st = new_inputs(s, err))) return st;
    if ((st = new_history(s, err))) return st;
    const int64_t rows = MAX_LOGIT_BYTES / ((int64_t)c->vocab * (int64_t)sizeof(float));
    s->max_logit_rows = rows < 1 ? 1 : rows < s->max_rows ? (int32_t)rows : s->max_rows;
    const size_t logit_bytes = (size_t)s->max_logit_rows * (size_t)c->vocab * sizeof(float);
    if ((st = sumi_buffer_new(&s->logits, s->model->device, logit_bytes, err))) return st;
    return sumi_buffer_new(&s->argmax, s->model->device, (size_t)s->max_logit_rows * sizeof(uint32_t), err);
}

sumi_status sumi_session_new(sumi_session **out, sumi_model *model, const sumi_session_options *options,
                             sumi_error *err)
{
    if (!out) return sumi_fail(err, SUMI_EINVAL, "session: out is NULL");
    *out = NULL;
    if (!model || !model->device) return sumi_fail(err, SUMI_EINVAL, "session: no model with weights");
    const sumi_session_options chosen = options ? *options : sumi_session_defaults();
    const int32_t limit = model->config.max_tokens;
    if (chosen.max_tokens < 0 || chosen.max_tokens > limit)
        return sumi_fail(err, SUMI_EINVAL, "session: context of %" PRId32 " tokens, the model's is %" PRId32,
                         chosen.max_tokens, limit);
    sumi_session *s = calloc(1, sizeof *s);
    if (!s) return sumi_fail(err, SUMI_ENOMEM, "session: %zu bytes", sizeof *s);
    s->model = model;
    s->mode = chosen.exact ? SUMI_EXACT : SUMI_FAST;
    s->max_tokens = chosen.max_tokens ? chosen.max_tokens : limit;
    s->max_blocks = (s->max_tokens + SUMI_KV_BLOCK_TOKENS - 1) / SUMI_KV_BLOCK_TOKENS;
    s->max_rows = min_i32(MAX_ROWS, s->max_tokens);
    const sumi_status st = init(s, err);
    if (st) {
        sumi_session_free(s);
        return st;
    }
    *out = s;
    return SUMI_OK;
}

void sumi_session_free(sumi_session *session)
{
    if (!session) return;
    sumi_kv_pool_deinit(&session->kv);
    sumi_rope_table_deinit(&session->rope);
    sumi_scratch_deinit(&session->scratch);
    sumi_encoder_free(session->encoder);
    sumi_buffer_free(session->inputs.buffer);
    sumi_buffer_free(session->logits);
    sumi_buffer_free(session->argmax);
    free(session->inputs.staging);
    free(session->tokens);
    free(session->blocks);
    free(session->host_logits);
    free(session);
}

int32_t sumi_session_n_tokens(const sumi_session *session) { return session ? session->n_tokens : 0; }
int32_t sumi_session_max_tokens(const sumi_session *session) { return session ? session->max_tokens : 0; }
const int32_t *sumi_session_tokens(const sumi_session *session) { return session ? session->tokens : NULL; }

/* ---- One pass ------------------------------------------------------------------------------------------ */

static sumi_view input_at(const sumi_session *s, size_t item)
{
    return (sumi_view){ s->inputs.buffer, item * sizeof(uint32_t) };
}

/* Tokens at positions first .. first+n-1, each in the slot its block table gives it. */
static sumi_status send_inputs(sumi_session *s, const int32_t *tokens, int32_t first, int32_t n, sumi_error *err)
{
    sumi_inputs *in = &s->inputs;
    for (int32_t i = 0; i < n; i++) {
        const uint32_t position = (uint32_t)(first + i);
        in->staging[in->ids + (size_t)i] = (uint32_t)tokens[i];
        in->staging[in->positions + (size_t)i] = position;
        in->staging[in->slots + (size_t)i] =
            s->blocks[position / SUMI_KV_BLOCK_TOKENS] * SUMI_KV_BLOCK_TOKENS + position % SUMI_KV_BLOCK_TOKENS;
    }
    in->staging[in->first_row] = 0;
    in->staging[in->first_row + 1] = (uint32_t)n;
    in->staging[in->context_len] = (uint32_t)(first + n);
    memcpy(in->staging + in->block_table, s->blocks, (size_t)s->max_blocks * sizeof *s->blocks);
    return sumi_buffer_write(in->buffer, 0, in->staging, in->n_items * sizeof *in->staging, err);
}

static sumi_pass new_pass(const sumi_session *s, int32_t n)
{
    const sumi_inputs *in = &s->inputs;
    return (sumi_pass){ .n_tokens = n,
                        .n_seqs = 1,
                        .max_blocks = s->max_blocks,
                        .ids = input_at(s, in->ids),
                        .positions = input_at(s, in->positions),
                        .slots = input_at(s, in->slots),
                        .first_row = input_at(s, in->first_row),
                        .block_tables = input_at(s, in->block_table),
                        .context_lens = input_at(s, in->context_len),
                        .kv = &s->kv,
                        .rope = &s->rope,
                        .scratch = &s->scratch,
                        .mode = s->mode,
                        .logits = { s->logits, 0 } };
}

static sumi_status run_pass(sumi_session *s, const sumi_pass *pass, sumi_error *err)
{
    sumi_encoder_reset(s->encoder);
    sumi_model_encode(s->model, s->encoder, pass);
    const sumi_status st = sumi_submit(s->encoder, err);
    return st ? st : sumi_wait(s->encoder, err);
}

/* ---- Where numbers go bad ---------------------------------------------------------------------------- */

/* Are the last token's activations finite after the first n_layers layers? Evaluates it again, in place. */
static sumi_status is_finite_after(sumi_session *s, int32_t n_layers, bool *finite, sumi_error *err)
{
    const int32_t last = s->n_tokens - 1, hidden = s->model->config.hidden;
    sumi_status st = send_inputs(s, s->tokens + last, last, 1, err);
    if (st) return st;
    sumi_pass pass = new_pass(s, 1);
    pass.stop_after_layers = n_layers;
    if ((st = run_pass(s, &pass, err))) return st;
    *finite = true;
    for (int32_t i = 0; i < hidden && *finite; i++) {
        float v;
        const size_t at = s->scratch.hidden.offset_bytes + (size_t)i * sizeof v;
        if ((st = sumi_buffer_read(s->scratch.hidden.buffer, at, &v, sizeof v, err))) return st;
        *finite = isfinite(v);
    }
    return SUMI_OK;
}

/* The logits of the last token are not finite: find the layer after which its activations are not, and say so. Always
 * returns SUMI_ENUMERIC. */
static sumi_status explain_not_finite(sumi_session *s, sumi_error *err)
{
    for (int32_t n = 1; s->n_tokens > 0 && n <= s->model->config.n_layers; n++) {
        bool finite;
        if (is_finite_after(s, n, &finite, NULL)) break;
        if (!finite)
            return sumi_fail(err, SUMI_ENUMERIC,
                             "%s: the logits after token %" PRId32
                             " are not finite: numbers go bad in layer %" PRId32,
                             sumi_gguf_path(s->model->file), s->n_tokens - 1, n - 1);
    }
    return sumi_fail(err, SUMI_ENUMERIC,
                     "%s: the logits after token %" PRId32
                     " are not all finite: numbers go bad in the output layer or before this token",
                     sumi_gguf_path(s->model->file), s->n_tokens - 1);
}

/* ---- Evaluation ---------------------------------------------------------------------------------------- */

static sumi_status check_tokens(const sumi_session *s, const int32_t *tokens, int32_t n, sumi_error *err)
{
    if (!s) return sumi_fail(err, SUMI_EINVAL, "session: is NULL");
    if (!tokens || n < 1) return sumi_fail(err, SUMI_EINVAL, "session: %" PRId32 " tokens to evaluate", n);
    if (n > s->max_tokens - s->n_tokens)
        return sumi_fail(err, SUMI_ELIMIT,
                         "session: %" PRId32 " tokens after %" PRId32 ", the context holds %" PRId32, n, s->n_tokens,
                         s->max_tokens);
    for (int32_t i = 0; i < n; i++)
        if (tokens[i] < 0 || tokens[i] >= s->model->config.vocab)
            return sumi_fail(err, SUMI_EINVAL,
                             "session: token %" PRId32 " of the input is %" PRId32 ", the vocabulary has %" PRId32, i,
                             tokens[i], s->model->config.vocab);
    return SUMI_OK;
}

static sumi_status reserve_logits(sumi_session *s, int32_t n_rows, sumi_error *err)
{
    uint64_t n_floats, n_bytes;
    if (!sumi_mul_u64((uint64_t)n_rows, (uint64_t)s->model->config.vocab, &n_floats) ||
        !sumi_mul_u64(n_floats, sizeof(float), &n_bytes) || n_bytes > SIZE_MAX / 2)
        return sumi_fail(err, SUMI_ENOMEM, "session: %" PRId32 " rows of logits", n_rows);
    if (n_floats <= s->max_host_floats) return SUMI_OK;
    float *grown = realloc(s->host_logits, (size_t)n_bytes);
    if (!grown)
        return sumi_fail(err, SUMI_ENOMEM, "session: %" PRId32 " rows of logits, %" PRIu64 " bytes", n_rows, n_bytes);
    s->host_logits = grown;
    s->max_host_floats = (size_t)n_floats;
    return SUMI_OK;
}

/* NaN and infinity have all exponent bits set. Without branches, so that it costs little beside the product that
 * made the logits. */
static bool is_finite_row(const float *x, int32_t n)
{
    uint32_t bad = 0;
    for (int32_t i = 0; i < n; i++) bad |= (sumi_float_bits(x[i]) & 0x7f800000u) == 0x7f800000u;
    return bad == 0;
}

/* A model whose weights are damaged must not pass for one that answers. */
static sumi_status check_logits(sumi_session *s, int32_t n_rows, sumi_error *err)
{
    const int32_t n_tokens = s->n_tokens;
    for (int32_t r = s->n_logits - n_rows; r < s->n_logits; r++) {
        if (is_finite_row(sumi_session_logits(s, r), s->model->config.vocab)) continue;
        s->n_tokens = n_tokens - (s->n_logits - 1 - r); /* as if the row's token were the last */
        return explain_not_finite(s, err);
    }
    return SUMI_OK;
}

/* Evaluate tokens [0, n) as one pass, with logits of the last n_logit_rows appended to the host's, and their greedy
 * choices in `next` (may be NULL). */
static sumi_status append_chunk(sumi_session *s, const int32_t *tokens, int32_t n, int32_t n_logit_rows,
                                int32_t *next, sumi_error *err)
{
    sumi_status st = send_inputs(s, tokens, s->n_tokens, n, err);
    if (st) return st;
    sumi_pass pass = new_pass(s, n);
    pass.first_logit_row = n - n_logit_rows;
    pass.n_logit_rows = n_logit_rows;
    if (next) pass.argmax = (sumi_view){ s->argmax, 0 };
    if ((st = run_pass(s, &pass, err))) return st;
    if (next && (st = sumi_buffer_read(s->argmax, 0, next, (size_t)n_logit_rows * sizeof *next, err))) return st;
    if (n_logit_rows) {
        const size_t vocab = (size_t)s->model->config.vocab;
        st = sumi_buffer_read(s->logits, 0, s->host_logits + (size_t)s->n_logits * vocab,
                              (size_t)n_logit_rows * vocab * sizeof(float), err);
        if (st) return st;
        s->n_logits += n_logit_rows;
    }
    memcpy(s->tokens + s->n_tokens, tokens, (size_t)n * sizeof *tokens);
    s->n_tokens += n;
    return check_logits(s, n_logit_rows, err);
}

sumi_status sumi_session_append(sumi_session *s, const int32_t *tokens, int32_t n, sumi_logits_rows rows,
                                sumi_go_on_fn *go_on, void *user, sumi_error *err)
{
    sumi_status st = check_tokens(s, tokens, n, err);
    if (st) return st;
    if (rows != SUMI_LOGITS_NONE && rows != SUMI_LOGITS_LAST && rows != SUMI_LOGITS_ALL)
        return sumi_fail(err, SUMI_EINVAL, "session: rows is %d, must be 0, 1 or 2", (int)rows);
    s->n_logits = 0;
    if (rows != SUMI_LOGITS_NONE && (st = reserve_logits(s, rows == SUMI_LOGITS_ALL ? n : 1, err))) return st;
    const int32_t max_chunk = rows == SUMI_LOGITS_ALL ? s->max_logit_rows : s->max_rows;
    for (int32_t done = 0; done < n;) {
        if (done && go_on && !go_on(user)) return sumi_fail(err, SUMI_ECANCELLED, "session: cancelled");
        const int32_t chunk = min_i32(n - done, max_chunk);
        const bool is_last = done + chunk == n;
        const int32_t n_rows = rows == SUMI_LOGITS_ALL ? chunk : rows == SUMI_LOGITS_LAST && is_last ? 1 : 0;
        if ((st = append_chunk(s, tokens + done, chunk, n_rows, NULL, err))) return st;
        done += chunk;
    }
    return SUMI_OK;
}

/* After a failure: the tokens of before, and no logits. Cache rows beyond them are not read again. */
static void undo(sumi_session *s, int32_t n_tokens)
{
    s->n_tokens = n_tokens;
    s->n_logits = 0;
}

sumi_status sumi_session_eval(sumi_session *session, const int32_t *tokens, int32_t n, sumi_logits_rows rows,
                              sumi_error *err)
{
    if (!session) return sumi_fail(err, SUMI_EINVAL, "session: is NULL");
    const int32_t before = session->n_tokens;
    const sumi_status st = sumi_session_append(session, tokens, n, rows, NULL, NULL, err);
    if (st) undo(session, before);
    return st;
}

const float *sumi_session_logits(const sumi_session *session, int32_t i_row)
{
    if (!session || i_row < 0 || i_row >= session->n_logits) return NULL;
    return session->host_logits + (size_t)i_row * (size_t)session->model->config.vocab;
}

sumi_status sumi_session_verify(sumi_session *session, const int32_t *tokens, int32_t n, int32_t *next,
                                sumi_error *err)
{
    sumi_session *s = session;
    sumi_status st = check_tokens(s, tokens, n, err);
    if (st) return st;
    if (!next) return sumi_fail(err, SUMI_EINVAL, "verify: next is NULL");
    const int32_t before = s->n_tokens;
    st = reserve_logits(s, min_i32(n, s->max_logit_rows), err);
    for (int32_t done = 0; done < n && st == SUMI_OK; done += s->max_logit_rows) {
        const int32_t chunk = min_i32(n - done, s->max_logit_rows);
        s->n_logits = 0; /* looked at, not kept */
        st = append_chunk(s, tokens + done, chunk, chunk, next + done, err);
    }
    s->n_logits = 0;
    if (st) undo(s, before);
    return st;
}

sumi_status sumi_session_truncate(sumi_session *session, int32_t n_tokens, sumi_error *err)
{
    if (!session) return sumi_fail(err, SUMI_EINVAL, "session: is NULL");
    if (n_tokens < 0 || n_tokens > session->n_tokens)
        return sumi_fail(err, SUMI_EINVAL, "session: truncate to %" PRId32 " tokens, there are %" PRId32, n_tokens,
                         session->n_tokens);
    session->n_tokens = n_tokens;
    session->n_logits = 0;
    return SUMI_OK;
}

/* ---- Looking inside -------------------------------------------------------------------------------------- */

sumi_status sumi_session_read_kv(const sumi_session *session, int32_t i_layer, int32_t which, float *dst,
                                 size_t n_floats, sumi_error *err)
{
    if (!session || !dst) return sumi_fail(err, SUMI_EINVAL, "read_kv: %s is NULL", session ? "dst" : "session");
    const sumi_config *c = &session->model->config;
    if (i_layer < 0 || i_layer >= c->n_layers || which < 0 || which > 1)
        return sumi_fail(err, SUMI_EINVAL, "read_kv: layer %" PRId32 " of %" PRId32 ", part %" PRId32 " of 2",
                         i_layer, c->n_layers, which);
    const size_t hd = (size_t)c->head_dim, needed = (size_t)session->n_tokens * (size_t)c->n_kv_heads * hd;
    if (n_floats != needed)
        return sumi_fail(err, SUMI_EINVAL, "read_kv: room for %zu floats, there are %zu", n_floats, needed);
    const sumi_format *format = sumi_format_of(session->kv.type == SUMI_KV_F16 ? SUMI_F16 : SUMI_F32);
    const size_t item = (size_t)format->block_bytes;
    uint8_t head[256 * sizeof(float)];
    for (int32_t t = 0; t < session->n_tokens; t++) {
        for (int32_t h = 0; h < c->n_kv_heads; h++) {
            const size_t block =
                (size_t)i_layer * (size_t)session->kv.n_blocks + session->blocks[t / SUMI_KV_BLOCK_TOKENS];
            const size_t row = (block * (size_t)c->n_kv_heads + (size_t)h) * SUMI_KV_BLOCK_TOKENS +
                               (size_t)(t % SUMI_KV_BLOCK_TOKENS);
            const sumi_status st =
                sumi_buffer_read(which ? session->kv.v : session->kv.k, row * hd * item, head, hd * item, err);
            if (st) return st;
            format->to_float(dst + ((size_t)t * (size_t)c->n_kv_heads + (size_t)h) * hd, head, (int64_t)hd);
        }
    }
    return SUMI_OK;
}
