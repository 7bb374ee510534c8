/* The block layouts, and the codecs of each format for the table in formats.c. Private to this folder.
 *
 * The layouts are those of GGUF files (ggml's block_* structures). Every member is a byte, so a block may lie
 * at any address and is read the same way on every machine. */
#ifndef SUMI_QUANT_BLOCKS_H
#define SUMI_QUANT_BLOCKS_H

#include "base/half.h"

#include <stdint.h>

typedef struct le_half {
    uint8_t bytes[2]; /* little-endian fp16 or bf16 */
} le_half;

typedef struct block_q1_0 {
    le_half d;
    uint8_t signs[16]; /* weight j: bit j%8 of byte j/8 */
} block_q1_0;

typedef struct block_q2_0 {
    le_half d;
    uint8_t codes[16]; /* weight j: bits 2(j%4), +1 of byte j/4 */
} block_q2_0;

typedef struct block_q2_0_g128 {
    le_half d;
    uint8_t codes[32];
} block_q2_0_g128;

typedef struct block_q2_0_g128_tail {
    uint8_t codes[32];
    le_half d;
} block_q2_0_g128_tail;

typedef struct block_tq1_0 {
    uint8_t five[48]; /* 5 base-3 digits a byte */
    uint8_t four[4];  /* 4 base-3 digits a byte */
    le_half d;
} block_tq1_0;

typedef struct block_tq2_0 {
    uint8_t codes[64]; /* two halves of 32 bytes; bit pair l of a half is its plane of weights 32 l .. 32 l + 31 */
    le_half d;
} block_tq2_0;

typedef struct block_q8_0 {
    le_half d;
    int8_t q[32];
} block_q8_0;

typedef struct block_q4_0 {
    le_half d;
    uint8_t q[16]; /* low nibbles: weights 0..15, high nibbles: 16..31; so too in the next three */
} block_q4_0;

typedef struct block_q4_1 {
    le_half d, min;
    uint8_t q[16];
} block_q4_1;

typedef struct block_q5_0 {
    le_half d;
    uint8_t high[4]; /* little-endian word: bit j is the fifth bit of weight j */
    uint8_t q[16];
} block_q5_0;

typedef struct block_q5_1 {
    le_half d, min;
    uint8_t high[4];
    uint8_t q[16];
} block_q5_1;

typedef struct block_q2_k {
    uint8_t scales[16]; /* of 16 weights: low nibble scale, high nibble min */
    uint8_t q[64];
    le_half d, dmin;
} block_q2_k;

typedef struct block_q3_k {
    uint8_t high[32];
    uint8_t q[64];
    uint8_t scales[12]; /* 16 scales of 6 bits: 16 low nibbles in 8 bytes, then 16 bit pairs in 4 */
    le_half d;
} block_q3_k;

typedef struct block_q4_k {
    le_half d, dmin;
    uint8_t scales[12]; /* 8 scales and 8 mins of 6 bits */
    uint8_t q[128];
} block_q4_k;

typedef struct block_q5_k {
    le_half d, dmin;
    uint8_t scales[12];
    uint8_t high[32];
    uint8_t q[128];
} block_q5_k;

typedef struct block_q6_k {
    uint8_t low[128];
    uint8_t high[64];
    int8_t scales[16];
    le_half d;
} block_q6_k;

_Static_assert(sizeof(block_q1_0) == 18, "Q1_0");
_Static_assert(sizeof(block_q2_0) == 18, "Q2_0");
_Static_assert(sizeof(block_q2_0_g128) == 34, "Q2_0_G128");
_Static_assert(sizeof(block_q2_0_g128_tail) == 34, "Q2_0_G128_TAIL");
_Static_assert(sizeof(block_tq1_0) == 54, "TQ1_0");
_Static_assert(sizeof(block_tq2_0) == 66, "TQ2_0");
_Static_assert(sizeof(block_q8_0) == 34, "Q8_0");
_Static_assert(sizeof(block_q4_0) == 18, "Q4_0");
_Static_assert(sizeof(block_q4_1) == 20, "Q4_1");
_Static_assert(sizeof(block_q5_0) == 22, "Q5_0");
_Static_assert(sizeof(block_q5_1) == 24, "Q5_1");
_Static_assert(sizeof(block_q2_k) == 84, "Q2_K");
_Static_assert(sizeof(block_q3_k) == 110, "Q3_K");
_Static_assert(sizeof(block_q4_k) == 144, "Q4_K");
_Static_assert(sizeof(block_q5_k) == 176, "Q5_K");
_Static_assert(sizeof(block_q6_k) == 210, "Q6_K");

static inline uint16_t half_bits(le_half h) { return (uint16_t)(h.bytes[0] | h.bytes[1] << 8); }
static inline float half_value(le_half h) { return sumi_half_to_float(half_bits(h)); }
static inline le_half half_of_bits(uint16_t u) { return (le_half){ { (uint8_t)u, (uint8_t)(u >> 8) } }; }

/* Codecs as sumi_format declares them. */
#define SUMI_DECODER(name) void sumi_decode_##name(float *dst, const void *src, int64_t n)
#define SUMI_ENCODER(name) void sumi_encode_##name(void *dst, const float *src, int64_t n)

SUMI_DECODER(f32);
SUMI_DECODER(f16);
SUMI_DECODER(bf16);
SUMI_DECODER(q1_0);
SUMI_DECODER(q2_0);
SUMI_DECODER(q2_0_g128);
SUMI_DECODER(q2_0_g128_tail);
SUMI_DECODER(tq1_0);
SUMI_DECODER(tq2_0);
SUMI_DECODER(q8_0);
SUMI_DECODER(q4_0);
SUMI_DECODER(q4_1);
SUMI_DECODER(q5_0);
SUMI_DECODER(q5_1);
SUMI_DECODER(q2_k);
SUMI_DECODER(q3_k);
SUMI_DECODER(q4_k);
SUMI_DECODER(q5_k);
SUMI_DECODER(q6_k);

SUMI_ENCODER(f32);
SUMI_ENCODER(f16);
SUMI_ENCODER(bf16);
SUMI_ENCODER(q1_0);
SUMI_ENCODER(q2_0);
SUMI_ENCODER(q2_0_g128);
SUMI_ENCODER(q2_0_g128_tail);
SUMI_ENCODER(tq1_0);
SUMI_ENCODER(tq2_0);
SUMI_ENCODER(q8_0);
SUMI_ENCODER(q4_0);
SUMI_ENCODER(q4_1);
SUMI_ENCODER(q5_0);
SUMI_ENCODER(q5_1);

#undef SUMI_DECODER
#undef SUMI_ENCODER

#endif
