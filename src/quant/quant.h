/* Block formats: one table of layouts and codecs, the only place where they are written down in code. */
#ifndef SUMI_QUANT_QUANT_H
#define SUMI_QUANT_QUANT_H

#include "base/status.h"

typedef struct sumi_format {
    sumi_dtype type;
    const char *name; /* as GGUF tools write it: "Q4_K" */
    int32_t gguf_id;  /* type id in a file; Q2_0 variants share 42, see gguf.h */
    int32_t block_weights, block_bytes;
    /* n floats, a whole number of blocks; src needs no alignment. */
    void (*to_float)(float *dst, const void *src, int64_t n);
    /* The inverse, deterministic. NULL: this build does not write the format. */
    void (*from_float)(void *dst, const float *src, int64_t n);
} sumi_format;

const sumi_format *sumi_format_of(sumi_dtype type);  /* NULL if out of range */
const sumi_format *sumi_format_of_gguf(uint32_t id); /* NULL if unknown; 42 gives Q2_0, 142 Q2_0_G128 */
const char *sumi_gguf_type_name(uint32_t id);        /* also of types not decoded here ("IQ4_XS"); NULL if unknown */

/* Bytes of n weights; n must be a whole number of blocks. */
static inline uint64_t sumi_format_bytes(const sumi_format *f, uint64_t n)
{
    return n / (uint64_t)f->block_weights * (uint64_t)f->block_bytes;
}

#endif
