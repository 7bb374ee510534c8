/* The table of formats, and lookups in it. */
#include "quant/quant.h"

#include "quant/blocks.h"

#define CODEC(f) sumi_decode_##f, sumi_encode_##f
#define READ_ONLY(f) sumi_decode_##f, NULL

static const sumi_format formats[SUMI_N_DTYPES] = {
    [SUMI_F32] = { SUMI_F32, "F32", 0, 1, 4, CODEC(f32) },
    [SUMI_F16] = { SUMI_F16, "F16", 1, 1, 2, CODEC(f16) },
    [SUMI_BF16] = { SUMI_BF16, "BF16", 30, 1, 2, CODEC(bf16) },
    [SUMI_Q1_0] = { SUMI_Q1_0, "Q1_0", 41, 128, sizeof(block_q1_0), CODEC(q1_0) },
    [SUMI_Q2_0] = { SUMI_Q2_0, "Q2_0", 42, 64, sizeof(block_q2_0), CODEC(q2_0) },
    [SUMI_Q2_0_G128] = { SUMI_Q2_0_G128, "Q2_0_G128", 142, 128, sizeof(block_q2_0_g128), CODEC(q2_0_g128) },
    [SUMI_Q2_0_G128_TAIL] = { SUMI_Q2_0_G128_TAIL, "Q2_0_G128_TAIL", 42, 128, sizeof(block_q2_0_g128_tail),
                              CODEC(q2_0_g128_tail) },
    [SUMI_TQ1_0] = { SUMI_TQ1_0, "TQ1_0", 34, 256, sizeof(block_tq1_0), CODEC(tq1_0) },
    [SUMI_TQ2_0] = { SUMI_TQ2_0, "TQ2_0", 35, 256, sizeof(block_tq2_0), CODEC(tq2_0) },
    [SUMI_Q8_0] = { SUMI_Q8_0, "Q8_0", 8, 32, sizeof(block_q8_0), CODEC(q8_0) },
    [SUMI_Q4_0] = { SUMI_Q4_0, "Q4_0", 2, 32, sizeof(block_q4_0), CODEC(q4_0) },
    [SUMI_Q4_1] = { SUMI_Q4_1, "Q4_1", 3, 32, sizeof(block_q4_1), CODEC(q4_1) },
    [SUMI_Q5_0] = { SUMI_Q5_0, "Q5_0", 6, 32, sizeof(block_q5_0), CODEC(q5_0) },
    [SUMI_Q5_1] = { SUMI_Q5_1, "Q5_1", 7, 32, sizeof(block_q5_1), CODEC(q5_1) },
    [SUMI_Q2_K] = { SUMI_Q2_K, "Q2_K", 10, 256, sizeof(block_q2_k), READ_ONLY(q2_k) },
    [SUMI_Q3_K] = { SUMI_Q3_K, "Q3_K", 11, 256, sizeof(block_q3_k), READ_ONLY(q3_k) },
    [SUMI_Q4_K] = { SUMI_Q4_K, "Q4_K", 12, 256, sizeof(block_q4_k), READ_ONLY(q4_k) },
    [SUMI_Q5_K] = { SUMI_Q5_K, "Q5_K", 13, 256, sizeof(block_q5_k), READ_ONLY(q5_k) },
    [SUMI_Q6_K] = { SUMI_Q6_K, "Q6_K", 14, 256, sizeof(block_q6_k), READ_ONLY(q6_k) },
};

/* Ids of ggml_type without a codec here; the last eight were withdrawn and must be named when refused. */
static const struct {
    uint32_t id;
    const char *name;
} other_types[] = {
    { 9, "Q8_1" },        { 15, "Q8_K" },     { 16, "IQ2_XXS" },  { 17, "IQ2_XS" },     { 18, "IQ3_XXS" },
    { 19, "IQ1_S" },      { 20, "IQ4_NL" },   { 21, "IQ3_S" },    { 22, "IQ2_S" },      { 23, "IQ4_XS" },
    { 24, "I8" },         { 25, "I16" },      { 26, "I32" },      { 27, "I64" },        { 28, "F64" },
    { 29, "IQ1_M" },      { 39, "MXFP4" },    { 40, "NVFP4" },    { 4, "Q4_2" },        { 5, "Q4_3" },
    { 31, "Q4_0_4_4" },   { 32, "Q4_0_4_8" }, { 33, "Q4_0_8_8" }, { 36, "IQ4_NL_4_4" }, { 37, "IQ4_NL_4_8" },
    { 38, "IQ4_NL_8_8" },
};

const sumi_format *sumi_format_of(sumi_dtype type) { return (uint32_t)type < SUMI_N_DTYPES ? &formats[type] : NULL; }

const sumi_format *sumi_format_of_gguf(uint32_t id)
{
    for (int i = 0; i < SUMI_N_DTYPES; i++) /* SUMI_Q2_0 stands before the other layout of id 42 */
        if ((uint32_t)formats[i].gguf_id == id) return &formats[i];
    return NULL;
}

const char *sumi_gguf_type_name(uint32_t id)
{
    const sumi_format *f = sumi_format_of_gguf(id);
    if (f) return f->name;
    for (size_t i = 0; i < sizeof other_types / sizeof *other_types; i++)
        if (other_types[i].id == id) return other_types[i].name;
    return NULL;
}

const char *sumi_dtype_name(sumi_dtype type)
{
    const sumi_format *f = sumi_format_of(type);
    return f ? f->name : "?";
}

int32_t sumi_dtype_block_weights(sumi_dtype type)
{
    const sumi_format *f = sumi_format_of(type);
    return f ? f->block_weights : 0;
}

int32_t sumi_dtype_block_bytes(sumi_dtype type)
{
    const sumi_format *f = sumi_format_of(type);
    return f ? f->block_bytes : 0;
}
