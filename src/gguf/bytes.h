/* Little-endian loads and stores at any address, and the sizes of GGUF's scalar types. */
#ifndef SUMI_GGUF_BYTES_H
#define SUMI_GGUF_BYTES_H

#include "gguf/gguf.h"

enum {
    SUMI_GGUF_MAX_KEY_BYTES = 65535, /* the GGUF specification's limit */
    SUMI_GGUF_MAX_NAME_BYTES = 63,   /* ggml keeps tensor names in 64 bytes with a terminator */
    SUMI_GGUF_DEFAULT_ALIGNMENT = 32,
    SUMI_GGUF_MAX_ALIGNMENT = 1 << 20
};

static inline uint64_t sumi_load_le(const uint8_t *p, size_t n_bytes)
{
    uint64_t v = 0;
    for (size_t i = 0; i < n_bytes; i++) v |= (uint64_t)p[i] << (8 * i);
    return v;
}
static inline uint32_t sumi_load_u32(const uint8_t *p) { return (uint32_t)sumi_load_le(p, 4); }
static inline uint64_t sumi_load_u64(const uint8_t *p) { return sumi_load_le(p, 8); }

static inline void sumi_store_u64(uint8_t p[8], uint64_t v)
{
    for (int i = 0; i < 8; i++) p[i] = (uint8_t)(v >> (8 * i));
}

/* Bytes of one scalar; 0 for strings, arrays and ids outside the enumeration. */
static inline size_t sumi_gguf_scalar_bytes(uint32_t type)
{
    static const uint8_t n_bytes[] = {
        [SUMI_GGUF_U8] = 1,  [SUMI_GGUF_I8] = 1,  [SUMI_GGUF_U16] = 2, [SUMI_GGUF_I16] = 2,
        [SUMI_GGUF_U32] = 4, [SUMI_GGUF_I32] = 4, [SUMI_GGUF_F32] = 4, [SUMI_GGUF_BOOL] = 1,
        [SUMI_GGUF_U64] = 8, [SUMI_GGUF_I64] = 8, [SUMI_GGUF_F64] = 8,
    };
    return type < sizeof n_bytes ? n_bytes[type] : 0;
}

static inline bool sumi_gguf_is_alignment(uint64_t a)
{
    return a >= 1 && a <= SUMI_GGUF_MAX_ALIGNMENT && (a & (a - 1)) == 0;
}

#endif
