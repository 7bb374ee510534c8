#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "kernels/kv.h"
#include "kernels/op.h"

enum { MAX_HEAD_DIM = 256 };

static sumi_status check_shape(const sumi_qkv_rope_cache_args *a, sumi_error *err)
{
    sumi_status st;
    if ((st = sumi_check_min("qkv_rope_cache", "n_tokens", a->n_tokens, 1, err))) return st;
    if ((st = sumi_check_min("qkv_rope_cache", "n_heads", a->n_heads, 1, err))) return st;
    if ((st = sumi_check_min("qkv_rope_cache", "n_kv_heads", a->n_kv_heads, 1, err))) return st;
    if ((st = sumi_check_min("qkv_rope_cache", "n_blocks", a->n_blocks, 1, err))) return st;
    if ((st = sumi_check_min("qkv_rope_cache", "head_dim", a->head_dim, 2, err))) return st;
    if (a->head_dim > MAX_HEAD_DIM || a->head_dim % 2)
        return sumi_fail(err, SUMI_EINVAL, "qkv_rope_cache: head_dim is %" PRId32 ", must be even and at most %d",
                         a->head_dim, MAX_HEAD_DIM);
    if (a->kv_type != SUMI_KV_F16 && a->kv_type != SUMI_KV_F32)
        return sumi_fail(err, SUMI_EINVAL, "qkv_rope_cache: kv_type is %d, must be 0 (f16) or 1 (f32)",
                         (int)a->kv_type);
    if (a->rope != SUMI_ROPE_NONE && a->rope != SUMI_ROPE_HALF_SPLIT && a->rope != SUMI_ROPE_INTERLEAVED)
        return sumi_fail(err, SUMI_EINVAL, "qkv_rope_cache: rope is %d, must be 0, 1 or 2", (int)a->rope);
    if (a->rope != SUMI_ROPE_NONE && (a->n_rot < 2 || a->n_rot > a->head_dim || a->n_rot % 2))
        return sumi_fail(err, SUMI_EINVAL,
                         "qkv_rope_cache: n_rot is %" PRId32 ", must be even, 2 to head_dim %" PRId32, a->n_rot,
                         a->head_dim);
    return SUMI_OK;
}

sumi_status sumi_check_qkv_rope_cache(const void *args, sumi_error *err)
{
    static const char op[] = "qkv_rope_cache";
    const sumi_qkv_rope_cache_args *a = args;
    sumi_status st;
    if ((st = check_shape(a, err))) return st;
    const int64_t row = ((int64_t)a->n_heads + 2 * (int64_t)a->n_kv_heads) * a->head_dim;
    const int64_t pool = sumi_items((int64_t)a->n_blocks * a->n_kv_heads, SUMI_KV_BLOCK_TOKENS * a->head_dim);
    const int64_t n_q = sumi_items((int64_t)a->n_tokens * a->n_heads, a->head_dim);
    const int64_t n_qkv = sumi_items(row, a->n_tokens);
    const int32_t kv_bytes = sumi_kv_item_bytes(a->kv_type);
    if ((st = sumi_check_view(op, "qkv", a->qkv, n_qkv, 4, err))) return st;
    if ((st = sumi_check_view(op, "q", a->q, n_q, 4, err))) return st;
    if ((st = sumi_check_view(op, "k_pool", a->k_pool, pool, kv_bytes, err))) return st;
    if ((st = sumi_check_view(op, "v_pool", a->v_pool, pool, kv_bytes, err))) return st;
    if ((st = sumi_check_view(op, "slots", a->slots, a->n_tokens, 4, err))) return st;
    if (!sumi_view_is_absent(a->q_norm) && (st = sumi_check_view(op, "q_norm", a->q_norm, a->head_dim, 4, err)))
        return st;
    if (!sumi_view_is_absent(a->k_norm) && (st = sumi_check_view(op, "k_norm", a->k_norm, a->head_dim, 4, err)))
        return st;
    if (sumi_views_overlap(a->q, (uint64_t)n_q * 4, a->qkv, (uint64_t)n_qkv * 4))
        return sumi_fail(err, SUMI_EINVAL, "%s: q and qkv overlap", op);
    if (!(a->eps >= 0)) return sumi_fail(err, SUMI_EINVAL, "%s: eps is %g, must not be negative", op, (double)a->eps);
    if (a->rope == SUMI_ROPE_NONE) return SUMI_OK;
    const int64_t angles = (int64_t)a->n_positions * (a->n_rot / 2);
    if ((st = sumi_check_min(op, "n_positions", a->n_positions, 1, err))) return st;
    if ((st = sumi_check_view(op, "positions", a->positions, a->n_tokens, 4, err))) return st;
    if ((st = sumi_check_view(op, "cos", a->cos, angles, 4, err))) return st;
    return sumi_check_view(op, "sin", a->sin, angles, 4, err);
}

size_t sumi_scratch_qkv_rope_cache(const void *args, int32_t n_threads)
{
    (void)args, (void)n_threads;
    return 0;
}

/* Norm and rotation of one head, from src to dst. */
static void prepare_head(const sumi_qkv_rope_cache_args *a, const sumi_kernel_set *k, float *dst, const float *src,
                         const float *norm, uint32_t position)
{
    if (norm) {
        const float mean = k->dot_f32(src, src, a->head_dim) / (float)a->head_dim;
        k->scale_mul_f32(dst, src, norm, 1.0f / sqrtf(mean + a->eps), a->head_dim);
    } else {
        memcpy(dst, src, (size_t)a->head_dim * sizeof *dst);
    }
    if (a->rope == SUMI_ROPE_NONE) return;
    const int32_t n_pairs = a->n_rot / 2;
    const float *c = sumi_floats(a->cos) + (int64_t)position * n_pairs;
    const float *s = sumi_floats(a->sin) + (int64_t)position * n_pairs;
    if (a->rope == SUMI_ROPE_HALF_SPLIT)
        k->rotate_f32(dst, dst + n_pairs, 1, c, s, n_pairs);
    else
        k->rotate_f32(dst, dst + 1, 2, c, s, n_pairs);
}

static void store_head(const sumi_qkv_rope_cache_args *a, const sumi_kernel_set *k, sumi_view pool, int64_t at,
                       const float *src)
{
    if (a->kv_type == SUMI_KV_F16)
        k->f32_to_f16((uint16_t *)(pool.buffer->data + pool.offset_bytes) + at, src, a->head_dim);
    else
        memcpy(sumi_floats(pool) + at, src, (size_t)a->head_dim * sizeof *src);
}

/* Head h of one token: 0 .. n_heads-1 are Q, then K, then V. */
static void run_head(const sumi_qkv_rope_cache_args *a, const sumi_kernel_set *k, int64_t t, int64_t h, uint32_t slot,
                     uint32_t position)
{
    const int64_t row = ((int64_t)a->n_heads + 2 * (int64_t)a->n_kv_heads) * a->head_dim;
    const float *src = sumi_floats(a->qkv) + t * row + h * a->head_dim;
    if (h < a->n_heads) {
        float *q = sumi_floats(a->q) + (t * a->n_heads + h) * a->head_dim;
        prepare_head(a, k, q, src, sumi_floats(a->q_norm), position);
        return;
    }
    const bool is_value = h >= (int64_t)a->n_heads + a->n_kv_heads;
    const int32_t kv_head = (int32_t)((h - a->n_heads) % a->n_kv_heads);
    const int64_t at = sumi_kv_offset(slot / SUMI_KV_BLOCK_TOKENS, kv_head, a->n_kv_heads, a->head_dim) +
                       (int64_t)(slot % SUMI_KV_BLOCK_TOKENS) * a->head_dim;
    if (is_value) {
        store_head(a, k, a->v_pool, at, src);
        return;
    }
    float key[MAX_HEAD_DIM];
    prepare_head(a, k, key, src, sumi_floats(a->k_norm), position);
    store_head(a, k, a->k_pool, at, key);
}

void sumi_run_qkv_rope_cache(const void *args, const sumi_run *run)
{
    const sumi_qkv_rope_cache_args *a = args;
    const int64_t n_parts = (int64_t)a->n_heads + 2 * (int64_t)a->n_kv_heads;
    int64_t begin, end;
    sumi_pool_share(a->n_tokens * n_parts, 1, run->i_thread, run->n_threads, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        const int64_t t = i / n_parts;
        const uint32_t slot = sumi_u32s(a->slots)[t];
        const uint32_t position = a->rope == SUMI_ROPE_NONE ? 0 : sumi_u32s(a->positions)[t];
        if (slot / SUMI_KV_BLOCK_TOKENS >= (uint32_t)a->n_blocks) {
            sumi_run_fail(run, SUMI_EINVAL,
                          "qkv_rope_cache: token %" PRId64 " goes to slot %" PRIu32 ", the pool has %" PRId32
                          " blocks of %d",
                          t, slot, a->n_blocks, SUMI_KV_BLOCK_TOKENS);
            return;
        }
        if (a->rope != SUMI_ROPE_NONE && position >= (uint32_t)a->n_positions) {
            sumi_run_fail(run, SUMI_EINVAL,
                          "qkv_rope_cache: token %" PRId64 " is at position %" PRIu32 ", the table has %" PRId32, t,
                          position, a->n_positions);
            return;
        }
        run_head(a, run->k, t, i % n_parts, slot, position);
    }
}
