/* Causal attention over a paged cache with an online softmax.
 *
 * Work is cut into units of one sequence, up to ROW_TILE of its query rows, and one KV head with its group of
 * query heads: a block of keys and values is widened once and used by all of them. Each (row, head) keeps a
 * running maximum, sum and weighted sum; blocks of 32 absolute positions are visited in ascending order, so the
 * bits of a row do not depend on how rows are tiled or shared out. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "kernels/kv.h"
#include "kernels/op.h"

enum { ROW_TILE = 8, BLOCK = SUMI_KV_BLOCK_TOKENS };

sumi_status sumi_check_attention(const void *args, sumi_error *err)
{
    static const char op[] = "attention";
    const sumi_attention_args *a = args;
    sumi_status st;
    if ((st = sumi_check_min(op, "n_tokens", a->n_tokens, 1, err))) return st;
    if ((st = sumi_check_min(op, "n_seqs", a->n_seqs, 1, err))) return st;
    if ((st = sumi_check_min(op, "max_blocks", a->max_blocks, 1, err))) return st;
    if ((st = sumi_check_min(op, "n_blocks", a->n_blocks, 1, err))) return st;
    if ((st = sumi_check_min(op, "n_kv_heads", a->n_kv_heads, 1, err))) return st;
    if ((st = sumi_check_min(op, "n_heads", a->n_heads, 1, err))) return st;
    if ((st = sumi_check_min(op, "window", a->window, 0, err))) return st;
    if (a->n_heads % a->n_kv_heads)
        return sumi_fail(err, SUMI_EINVAL, "%s: n_heads %" PRId32 " is not a multiple of n_kv_heads %" PRId32, op,
                         a->n_heads, a->n_kv_heads);
    if (a->head_dim < 8 || a->head_dim > 256 || a->head_dim % 8)
        return sumi_fail(err, SUMI_EINVAL, "%s: head_dim is %" PRId32 ", must be a multiple of 8 from 8 to 256", op,
                         a->head_dim);
    if (a->kv_type != SUMI_KV_F16 && a->kv_type != SUMI_KV_F32)
        return sumi_fail(err, SUMI_EINVAL, "%s: kv_type is %d, must be 0 (f16) or 1 (f32)", op, (int)a->kv_type);
    if (!isfinite(a->scale)) return sumi_fail(err, SUMI_EINVAL, "%s: scale is not finite", op);
    const int64_t n = sumi_items((int64_t)a->n_tokens * a->n_heads, a->head_dim);
    const int64_t pool = sumi_items((int64_t)a->n_blocks * a->n_kv_heads, BLOCK * a->head_dim);
    const int32_t kv_bytes = sumi_kv_item_bytes(a->kv_type);
    if ((st = sumi_check_view(op, "q", a->q, n, 4, err))) return st;
    if ((st = sumi_check_view(op, "out", a->out, n, 4, err))) return st;
    if ((st = sumi_check_view(op, "k_pool", a->k_pool, pool, kv_bytes, err))) return st;
    if ((st = sumi_check_view(op, "v_pool", a->v_pool, pool, kv_bytes, err))) return st;
    if ((st = sumi_check_view(op, "first_row", a->first_row, (int64_t)a->n_seqs + 1, 4, err))) return st;
    if ((st = sumi_check_view(op, "context_lens", a->context_lens, a->n_seqs, 4, err))) return st;
    return sumi_check_view(op, "block_tables", a->block_tables, (int64_t)a->n_seqs * a->max_blocks, 4, err);
}

/* A thread's memory: one widened block of keys and of values, and the state of every (row, head) of a unit. */
typedef struct workspace {
    float *keys, *values; /* [BLOCK][head_dim] */
    float *sums;          /* [ROW_TILE * group][head_dim] */
    float *max, *total;   /* [ROW_TILE * group] */
} workspace;

static size_t workspace_floats(const sumi_attention_args *a)
{
    const size_t group = (size_t)(a->n_heads / a->n_kv_heads), hd = (size_t)a->head_dim;
    const size_t n = 2 * BLOCK * hd + ROW_TILE * group * (hd + 2);
    return (n + 15) / 16 * 16; /* whole cache lines: no two threads share one */
}

static workspace workspace_at(const sumi_attention_args *a, uint8_t *scratch, int32_t i_thread)
{
    const size_t group = (size_t)(a->n_heads / a->n_kv_heads), hd = (size_t)a->head_dim;
    workspace ws;
    ws.keys = (float *)scratch + (size_t)i_thread * workspace_floats(a);
    ws.values = ws.keys + BLOCK * hd;
    ws.sums = ws.values + BLOCK * hd;
    ws.max = ws.sums + ROW_TILE * group * hd;
    ws.total = ws.max + ROW_TILE * group;
    return ws;
}

size_t sumi_scratch_attention(const void *args, int32_t n_threads)
{
    return (size_t)n_threads * workspace_floats(args) * sizeof(float);
}

/* Widen n positions of a block, [n][head_dim]. */
static void load_block(const sumi_attention_args *a, const sumi_kernel_set *k, float *dst, sumi_view pool,
                       uint32_t block, int32_t kv_head, int64_t n)
{
    const int64_t at = sumi_kv_offset(block, kv_head, a->n_kv_heads, a->head_dim);
    const uint8_t *src = pool.buffer->data + pool.offset_bytes;
    if (a->kv_type == SUMI_KV_F16)
        k->f16_to_f32(dst, (const uint16_t *)src + at, n * a->head_dim);
    else
        memcpy(dst, (const float *)src + at, (size_t)(n * a->head_dim) * sizeof *dst);
}

/* Fold the positions first .. first+n-1 of the block in the workspace into the state s of one query head. */
static void fold_block(const sumi_attention_args *a, const sumi_kernel_set *k, const workspace *ws, int64_t s,
                       const float *q, int32_t first, int32_t n)
{
    const int64_t hd = a->head_dim;
    float p[BLOCK];
    float max = ws->max[s];
    for (int32_t j = 0; j < n; j++) {
        p[j] = k->dot_f32(q, ws->keys + (first + j) * hd, hd) * a->scale;
        if (p[j] > max) max = p[j];
    }
    const float shift = max == -INFINITY ? 0 : max; /* all keys masked by -inf: weights 0, not exp(-inf + inf) */
    float *sum = ws->sums + s * hd;
    if (max > ws->max[s]) {
        float rescale;
        k->exp_f32(&rescale, &ws->max[s], max, 1);
        ws->total[s] *= rescale;
        k->scale_f32(sum, rescale, hd);
        ws->max[s] = max;
    }
    k->exp_f32(p, p, shift, n);
    for (int32_t j = 0; j < n; j++) {
        ws->total[s] += p[j];
        k->axpy_f32(sum, ws->values + (first + j) * hd, p[j], hd);
    }
}

/* One unit: rows first_row .. first_row+n_rows-1 of a sequence whose row i sees positions below end + i. */
typedef struct unit {
    int32_t i_seq, kv_head, n_rows;
    int64_t first_row, end;
} unit;

static bool run_unit(const sumi_attention_args *a, const sumi_run *run, const workspace *ws, const unit *u)
{
    const int32_t group = a->n_heads / a->n_kv_heads;
    const int64_t hd = a->head_dim, n_states = (int64_t)u->n_rows * group;
    memset(ws->sums, 0, (size_t)(n_states * hd) * sizeof(float));
    for (int64_t s = 0; s < n_states; s++) ws->max[s] = -INFINITY, ws->total[s] = 0;

    const float *q = sumi_floats(a->q) + (u->first_row * a->n_heads + (int64_t)u->kv_head * group) * hd;
    const uint32_t *table = sumi_u32s(a->block_tables) + (int64_t)u->i_seq * a->max_blocks;
    const int64_t last_end = u->end + u->n_rows - 1;
    const int64_t first_seen = a->window > 0 && u->end > a->window ? u->end - a->window : 0;
    for (int64_t b = first_seen / BLOCK; b * BLOCK < last_end; b++) {
        if (table[b] >= (uint32_t)a->n_blocks) {
            sumi_run_fail(run, SUMI_EINVAL,
                          "attention: block %" PRId64 " of sequence %" PRId32 " is %" PRIu32
                          ", the pool has %" PRId32,
                          b, u->i_seq, table[b], a->n_blocks);
            return false;
        }
        const int64_t n_stored = last_end - b * BLOCK < BLOCK ? last_end - b * BLOCK : BLOCK;
        load_block(a, run->k, ws->keys, a->k_pool, table[b], u->kv_head, n_stored);
        load_block(a, run->k, ws->values, a->v_pool, table[b], u->kv_head, n_stored);
        for (int32_t r = 0; r < u->n_rows; r++) {
            const int64_t end = u->end + r, start = a->window > 0 && end > a->window ? end - a->window : 0;
            const int64_t from = start > b * BLOCK ? start - b * BLOCK : 0;
            const int64_t to = end - b * BLOCK < BLOCK ? end - b * BLOCK : BLOCK;
            if (from >= to) continue;
            for (int32_t h = 0; h < group; h++)
                fold_block(a, run->k, ws, (int64_t)r * group + h, q + ((int64_t)r * a->n_heads + h) * hd,
                           (int32_t)from, (int32_t)(to - from));
        }
    }
    float *out = sumi_floats(a->out) + (u->first_row * a->n_heads + (int64_t)u->kv_head * group) * hd;
    for (int32_t r = 0; r < u->n_rows; r++) {
        for (int32_t h = 0; h < group; h++) {
            const int64_t s = (int64_t)r * group + h;
            float *o = out + ((int64_t)r * a->n_heads + h) * hd;
            memcpy(o, ws->sums + s * hd, (size_t)hd * sizeof *o);
            run->k->scale_f32(o, ws->total[s] == 0 ? 0 : 1.0f / ws->total[s], hd);
        }
    }
    return true;
}

/* Is sequence s described consistently? Its context must hold its rows and fit its block table. */
static bool check_sequence(const sumi_attention_args *a, const sumi_run *run, int32_t s, uint32_t *begin,
                           uint32_t *end, uint32_t *context)
{
    *begin = sumi_u32s(a->first_row)[s];
    *end = sumi_u32s(a->first_row)[s + 1];
    *context = sumi_u32s(a->context_lens)[s];
    if (*begin > *end || *end > (uint32_t)a->n_tokens) {
        sumi_run_fail(run, SUMI_EINVAL,
                      "attention: sequence %" PRId32 " has rows %" PRIu32 " to %" PRIu32 " of %" PRId32, s, *begin,
                      *end, a->n_tokens);
        return false;
    }
    if (*context < *end - *begin || *context > (uint64_t)a->max_blocks * BLOCK) {
        sumi_run_fail(run, SUMI_EINVAL,
                      "attention: sequence %" PRId32 " has %" PRIu32 " rows and context %" PRIu32
                      ", the block table holds %" PRId64,
                      s, *end - *begin, *context, (int64_t)a->max_blocks * BLOCK);
        return false;
    }
    return true;
}

void sumi_run_attention(const void *args, const sumi_run *run)
{
    const sumi_attention_args *a = args;
    const workspace ws = workspace_at(a, run->scratch, run->i_thread);
    int64_t i_unit = 0; /* units go round the threads: neighbours cost about the same */
    for (int32_t s = 0; s < a->n_seqs; s++) {
        uint32_t begin, end, context;
        if (!check_sequence(a, run, s, &begin, &end, &context)) return;
        for (uint32_t row = begin; row < end; row += ROW_TILE) {
            for (int32_t kv_head = 0; kv_head < a->n_kv_heads; kv_head++) {
                if (i_unit++ % run->n_threads != run->i_thread) continue;
                const unit u = { .i_seq = s,
                                 .kv_head = kv_head,
                                 .n_rows = (int32_t)(end - row < ROW_TILE ? end - row : ROW_TILE),
                                 .first_row = row,
                                 .end = (int64_t)context - (end - row) + 1 };
                if (!run_unit(a, run, &ws, &u)) return;
            }
        }
    }
}
