/* sumi_kernels.h - devices, buffers, weights, and an encoder that records a pass of operations.
 *
 * The whole library in five steps:
 *
 *   sumi_device_open   once: threads, instruction set, or a GPU
 *   sumi_weight_new    once per matrix: bytes of a block format, re-laid out for the device
 *   sumi_buffer_new    memory for activations, token ids and the KV cache
 *   sumi_op_*          records operations on a sumi_encoder; nothing runs yet
 *   sumi_submit, sumi_wait   run the recorded list in order; each op sees the writes of all earlier ones
 *
 * Conventions. [a][b][c]: c is contiguous. Activations are float32. A weight is [rows][cols] and multiplies
 * as y = W x. "Rows" of an activation are tokens. Every op checks shapes, bounds and NULLs when it is
 * recorded; the encoder keeps the first error and sumi_submit returns it, so a forward pass may be written
 * without a test after each line.
 *
 * Threads: devices, weights and buffers may be shared between threads; one encoder belongs to one thread at
 * a time; submits to one device are executed one after another. */
#ifndef SUMI_KERNELS_H
#define SUMI_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(SUMI_BUILD)
#define SUMI_API __attribute__((visibility("default")))
#else
#define SUMI_API
#endif

/* ---- Status ---------------------------------------------------------------------------------------- */

typedef enum sumi_status {
    SUMI_OK = 0,
    SUMI_EINVAL,       /* an argument or a request is wrong */
    SUMI_ENOMEM,       /* memory: not allocated, or a plan does not fit */
    SUMI_EIO,          /* a file cannot be opened, read or written */
    SUMI_EFORMAT,      /* a file's content breaks its format */
    SUMI_EUNSUPPORTED, /* well-formed, but something this build does not do; the message names it */
    SUMI_EDEVICE,      /* a device failed or is missing */
    SUMI_ELIMIT,       /* a stated limit is exceeded: context length, cache blocks */
    SUMI_ECANCELLED,   /* a callback asked to stop */
    SUMI_ENUMERIC      /* a result is not finite; the message names the place */
} sumi_status;

/* Filled by the function that fails, with the object and the numbers in the text: one line, no final
 * newline. Untouched on success. Every `err` parameter may be NULL. */
typedef struct sumi_error {
    sumi_status status;
    char message[512];
} sumi_error;

/* The status as a word: "out of memory", "bad format", ... Never NULL; static. */
SUMI_API const char *sumi_status_name(sumi_status status);

/* ---- Block formats --------------------------------------------------------------------------------- */

/* How weights are stored. Layouts: docs/formats.md. Values are ours, not GGUF's ids. */
typedef enum sumi_dtype {
    SUMI_F32 = 0,
    SUMI_F16,
    SUMI_BF16,
    SUMI_Q1_0,           /* 128 per block, 18 bytes: fp16 d, signs */
    SUMI_Q2_0,           /* 64 per block, 18 bytes: fp16 d, 2-bit codes */
    SUMI_Q2_0_G128,      /* 128 per block, 34 bytes: fp16 d, 2-bit codes */
    SUMI_Q2_0_G128_TAIL, /* 128 per block, 34 bytes: 2-bit codes, fp16 d; code 3 is 0 */
    SUMI_TQ1_0,
    SUMI_TQ2_0,
    SUMI_Q8_0,
    SUMI_Q4_0,
    SUMI_Q4_1,
    SUMI_Q5_0,
    SUMI_Q5_1,
    SUMI_Q2_K,
    SUMI_Q3_K,
    SUMI_Q4_K,
    SUMI_Q5_K,
    SUMI_Q6_K,
    SUMI_N_DTYPES
} sumi_dtype;

SUMI_API const char *sumi_dtype_name(sumi_dtype type);      /* "Q1_0"; "?" if out of range */
SUMI_API int32_t sumi_dtype_block_weights(sumi_dtype type); /* weights per block; 0 if out of range */
SUMI_API int32_t sumi_dtype_block_bytes(sumi_dtype type);   /* bytes per block; 0 if out of range */

/* ---- Device ---------------------------------------------------------------------------------------- */

typedef struct sumi_device sumi_device;

typedef struct sumi_device_options {
    int32_t n_threads; /* 0: the CPUs this process may use (affinity, cgroup quota), one per core */
    const char *isa;   /* NULL: the best this CPU has; else "scalar", "avx2", "avx512", "neon" */
} sumi_device_options;

SUMI_API sumi_device_options sumi_device_defaults(void);

/* Open a device by name; "cpu" exists everywhere. options may be NULL.
 * Errors: SUMI_EINVAL (unknown name; an ISA this CPU lacks), SUMI_ENOMEM. Release: sumi_device_free, after
 * everything made on the device. */
SUMI_API sumi_status sumi_device_open(sumi_device **out, const char *name, const sumi_device_options *options,
                                      sumi_error *err);
SUMI_API void sumi_device_free(sumi_device *device);
SUMI_API const char *sumi_device_description(const sumi_device *device); /* "cpu avx2, 2 threads" */
SUMI_API int32_t sumi_device_n_threads(const sumi_device *device);

/* ---- Buffers --------------------------------------------------------------------------------------- */

typedef struct sumi_buffer sumi_buffer;

/* size_bytes of device memory, zeroed, aligned to at least 64 bytes. Errors: SUMI_EINVAL (0), SUMI_ENOMEM. */
SUMI_API sumi_status sumi_buffer_new(sumi_buffer **out, sumi_device *device, size_t size_bytes, sumi_error *err);
SUMI_API void sumi_buffer_free(sumi_buffer *buffer);
SUMI_API size_t sumi_buffer_size_bytes(const sumi_buffer *buffer);

/* Copy between host memory and a buffer; refused when offset + n goes past the end. No pass that uses the
 * bytes may be running. */
SUMI_API sumi_status sumi_buffer_write(sumi_buffer *buffer, size_t offset_bytes, const void *src, size_t n_bytes,
                                       sumi_error *err);
SUMI_API sumi_status sumi_buffer_read(const sumi_buffer *buffer, size_t offset_bytes, void *dst, size_t n_bytes,
                                      sumi_error *err);

/* A place in a buffer. {NULL, 0} means "absent" where an op allows it. */
typedef struct sumi_view {
    sumi_buffer *buffer;
    size_t offset_bytes;
} sumi_view;

/* ---- Weights --------------------------------------------------------------------------------------- */

typedef struct sumi_weight sumi_weight;

typedef struct sumi_weight_part {
    const void *data; /* n_rows rows of n_cols / block_weights blocks each, as in the file; borrowed for the call */
    int32_t n_rows;
} sumi_weight_part;

/* One matrix [sum of part rows][n_cols], its parts stacked in order (Q||K||V, gate||up). The bytes are copied
 * and re-laid out for the device, in parallel; the parts may be released afterwards.
 * Errors: SUMI_EINVAL (no parts, NULL data, rows or cols < 1, n_cols not a whole number of blocks), SUMI_ENOMEM. */
SUMI_API sumi_status sumi_weight_new(sumi_weight **out, sumi_device *device, sumi_dtype type, int32_t n_cols,
                                     const sumi_weight_part *parts, int32_t n_parts, sumi_error *err);
SUMI_API void sumi_weight_free(sumi_weight *weight);
SUMI_API int32_t sumi_weight_n_rows(const sumi_weight *weight);
SUMI_API int32_t sumi_weight_n_cols(const sumi_weight *weight);
SUMI_API sumi_dtype sumi_weight_dtype(const sumi_weight *weight);
SUMI_API size_t sumi_weight_size_bytes(const sumi_weight *weight); /* device memory it holds */

/* ---- Encoder --------------------------------------------------------------------------------------- */

typedef struct sumi_encoder sumi_encoder;

SUMI_API sumi_status sumi_encoder_new(sumi_encoder **out, sumi_device *device, sumi_error *err);
SUMI_API void sumi_encoder_free(sumi_encoder *encoder);

/* Forget what was recorded, and the error; keeps memory. */
SUMI_API void sumi_encoder_reset(sumi_encoder *encoder);

/* Start the recorded pass. If recording failed, nothing runs and that error is returned. The encoder must not
 * be recorded to, reset or freed before sumi_wait. */
SUMI_API sumi_status sumi_submit(sumi_encoder *encoder, sumi_error *err);

/* Wait for the pass; device errors surface here. */
SUMI_API sumi_status sumi_wait(sumi_encoder *encoder, sumi_error *err);

/* ---- Operations ------------------------------------------------------------------------------------ */
/* Each op takes one struct. A field not named in the initialiser is 0: absent view, no option. */

/* How a product reads its activations.
 * SUMI_EXACT: float32 as they are; y = sum_k W[r][k] x[k] in float32.
 * SUMI_FAST:  each row of x is rounded to int8 in groups of 128 with one float scale
 *             d = max|x| / 127, q = round_to_nearest_even(x * (127 / max|x|)); group sums are exact integers.
 * Both sum in an order that depends on n_cols only (docs/numerics.md): a row's bits do not depend on
 * n_rows, the thread count or the instruction set. */
typedef enum sumi_mode { SUMI_FAST = 0, SUMI_EXACT = 1 } sumi_mode;

/* y[t] = table[ids[t]], any block format.
 * ids: u32[n_tokens]; y: [n_tokens][cols of table]. An id >= rows surfaces at sumi_wait (SUMI_EINVAL with the
 * id and the row count), before anything is written for that token. */
typedef struct sumi_embed_args {
    sumi_view y, ids;
    const sumi_weight *table;
    int32_t n_tokens;
} sumi_embed_args;

/* y[r][i] = x[r][i] / sqrt(mean_i x[r][i]^2 + eps) * w[i]. x, y: [n_rows][n_cols]; w: [n_cols]; y may be x.
 * Source: Zhang & Sennrich 2019, "Root Mean Square Layer Normalization", eq. 4. */
typedef struct sumi_rmsnorm_args {
    sumi_view y, x, w;
    int32_t n_rows, n_cols;
    float eps;
} sumi_rmsnorm_args;

/* y[t][r] = (residual ? residual[t][r] : 0) + (bias ? bias[r] : 0) + sum_k w[r][k] x[t][k]
 * x: [n_tokens][w cols]; y, residual: [n_tokens][w rows]; bias: [w rows]. residual may be y; x must not overlap
 * y. */
typedef struct sumi_matmul_args {
    sumi_view y, x, residual, bias;
    const sumi_weight *w;
    int32_t n_tokens;
    sumi_mode mode;
} sumi_matmul_args;

typedef enum sumi_rope_style {
    SUMI_ROPE_NONE = 0,
    SUMI_ROPE_HALF_SPLIT, /* pairs (i, i + n_rot/2): Qwen, NeoX */
    SUMI_ROPE_INTERLEAVED /* pairs (2i, 2i+1): GGUF llama */
} sumi_rope_style;

typedef enum sumi_kv_type { SUMI_KV_F16 = 0, SUMI_KV_F32 = 1 } sumi_kv_type;

enum { SUMI_KV_BLOCK_TOKENS = 32 }; /* positions per cache block */

/* Split a fused projection, normalise and rotate its heads, write the cache:
 *   qkv: [n_tokens][(n_heads + 2 n_kv_heads) head_dim], heads in order Q, K, V
 *   q:   [n_tokens][n_heads][head_dim]
 *   k_pool, v_pool: [block][n_kv_heads][32][head_dim] of kv_type; token t goes to block slots[t] / 32,
 *        position slots[t] % 32 (slots: u32[n_tokens])
 *   q_norm, k_norm: [head_dim], RMS norm per head before rotation; absent: none
 *   cos, sin: [n_positions][n_rot/2] indexed by positions[t] (u32[n_tokens]); for a pair (u, v)
 *        u' = u cos - v sin, v' = v cos + u sin; components >= n_rot are copied. V is copied.
 * A position or slot out of range surfaces at sumi_wait. Source: Su et al. 2021, "RoFormer", eq. 34. */
typedef struct sumi_qkv_rope_cache_args {
    sumi_view q, qkv, k_pool, v_pool, slots, positions, q_norm, k_norm, cos, sin;
    int32_t n_tokens, n_heads, n_kv_heads, head_dim, n_rot, n_positions, n_blocks;
    float eps;
    sumi_rope_style rope;
    sumi_kv_type kv_type;
} sumi_qkv_rope_cache_args;

/* Causal attention of a ragged batch over a paged cache:
 *   out[t][h] = sum_j softmax_j(scale q[t][h] . K[j][g]) V[j][g],  g = h / (n_heads / n_kv_heads)
 * Rows first_row[s] .. first_row[s+1]-1 of q (first_row: u32[n_seqs+1]) belong to sequence s, are its newest
 * tokens, and row i of m sees positions j < context_lens[s] - (m - 1 - i), and with window > 0 only the last
 * `window` of those. Position j lives in block block_tables[s][j / 32].
 *   q, out: [n_tokens][n_heads][head_dim]; block_tables: u32[n_seqs][max_blocks]; context_lens: u32[n_seqs],
 *   counted after this pass's tokens were written. A row that sees nothing gives zeros.
 * Scores, softmax and sum are float32; keys are visited in blocks of 32 absolute positions in ascending order,
 * so a row's bits depend on its own context alone. Source: Vaswani et al. 2017, eq. 1; Milakov & Gimelshein
 * 2018 (online softmax). */
typedef struct sumi_attention_args {
    sumi_view out, q, k_pool, v_pool, first_row, block_tables, context_lens;
    int32_t n_tokens, n_seqs, max_blocks, n_blocks, n_heads, n_kv_heads, head_dim, window;
    float scale;
    sumi_kv_type kv_type;
} sumi_attention_args;

/* y[t][i] = silu(x[t][i]) * x[t][n + i], silu(a) = a / (1 + exp(-a)). x: [n_tokens][2 n] (gate, then up);
 * y: [n_tokens][n]. Source: Shazeer 2020, "GLU Variants Improve Transformer". */
typedef struct sumi_silu_mul_args {
    sumi_view y, x;
    int32_t n_tokens, n;
} sumi_silu_mul_args;

/* ids[r] = index of the largest x[r][i]; the lowest index wins a tie, NaN is skipped, a row without a number
 * gives 0. x: [n_rows][n_cols]; ids: u32[n_rows]. */
typedef struct sumi_argmax_args {
    sumi_view ids, x;
    int32_t n_rows, n_cols;
} sumi_argmax_args;

SUMI_API sumi_status sumi_op_embed(sumi_encoder *e, const sumi_embed_args *args);
SUMI_API sumi_status sumi_op_rmsnorm(sumi_encoder *e, const sumi_rmsnorm_args *args);
SUMI_API sumi_status sumi_op_matmul(sumi_encoder *e, const sumi_matmul_args *args);
SUMI_API sumi_status sumi_op_qkv_rope_cache(sumi_encoder *e, const sumi_qkv_rope_cache_args *args);
SUMI_API sumi_status sumi_op_attention(sumi_encoder *e, const sumi_attention_args *args);
SUMI_API sumi_status sumi_op_silu_mul(sumi_encoder *e, const sumi_silu_mul_args *args);
SUMI_API sumi_status sumi_op_argmax(sumi_encoder *e, const sumi_argmax_args *args);

#ifdef __cplusplus
}
#endif
#endif
