/* Where a position of a paged cache lives: [block][kv_head][32][head_dim], 64-bit element offsets. */
#ifndef SUMI_KERNELS_KV_H
#define SUMI_KERNELS_KV_H

#include "sumi_kernels.h"

static inline int64_t sumi_kv_offset(uint32_t block, int32_t kv_head, int32_t n_kv_heads, int32_t head_dim)
{
    return (((int64_t)block * n_kv_heads + kv_head) * SUMI_KV_BLOCK_TOKENS) * head_dim;
}

static inline int32_t sumi_kv_item_bytes(sumi_kv_type type) { return type == SUMI_KV_F16 ? 2 : 4; }

#endif
