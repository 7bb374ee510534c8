/* sumi.h - run low-bit language models: load a file, open a session, evaluate and generate.
 *
 *   sumi_model_load      weights and tokenizer, immutable, shared by any number of sessions and threads
 *   sumi_session_new     everything mutable: KV cache, scratch, logits
 *   sumi_generate        prompt ids in, text pieces out through a callback
 *
 * Every function that can fail returns a sumi_status and fills `err` (may be NULL) with one line. Nothing here
 * prints, exits or reads the environment. All strings are UTF-8. `free` functions accept NULL. */
#ifndef SUMI_H
#define SUMI_H

#include "sumi_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

SUMI_API const char *sumi_version(void); /* "0.1.0" */

/* ---- Files ------------------------------------------------------------------------------------------ */

typedef struct sumi_file_info sumi_file_info;

typedef struct sumi_tensor_info {
    const char *name;      /* as long as the sumi_file_info */
    const char *type_name; /* "Q1_0"; also of types that cannot be run */
    int32_t n_dims;
    int64_t dims[4];       /* first is contiguous */
    uint64_t offset_bytes; /* in the file */
    uint64_t n_bytes;      /* 0: unknown layout */
} sumi_tensor_info;

/* Read a GGUF file's header, whether or not its model can be run.
 * Errors: SUMI_EIO, SUMI_EFORMAT, SUMI_EUNSUPPORTED (GGUF version), SUMI_ENOMEM. */
SUMI_API sumi_status sumi_file_info_open(sumi_file_info **out, const char *path, sumi_error *err);
SUMI_API void sumi_file_info_close(sumi_file_info *info);
SUMI_API uint32_t sumi_file_info_version(const sumi_file_info *info);
SUMI_API uint64_t sumi_file_info_size_bytes(const sumi_file_info *info);
SUMI_API int64_t sumi_file_info_n_keys(const sumi_file_info *info);
SUMI_API int64_t sumi_file_info_n_tensors(const sumi_file_info *info);
/* Key i: its name, and its value as JSON text (arrays longer than max_elements are cut, "[1, 2, ...]", which
 * is no longer JSON; max_elements < 0: never). *json is malloc'ed. */
SUMI_API sumi_status sumi_file_info_key(const sumi_file_info *info, int64_t i, int64_t max_elements,
                                        const char **name, char **json, sumi_error *err);
SUMI_API sumi_status sumi_file_info_tensor(const sumi_file_info *info, int64_t i, sumi_tensor_info *tensor,
                                           sumi_error *err);

/* ---- Model ------------------------------------------------------------------------------------------ */

typedef struct sumi_model sumi_model;

/* done of total bytes of weights are loaded; return false to stop (SUMI_ECANCELLED). Called by the loading thread. */
typedef bool sumi_progress_fn(void *user, uint64_t done_bytes, uint64_t total_bytes);

typedef struct sumi_model_options {
    sumi_progress_fn *progress; /* may be NULL */
    void *progress_user;
} sumi_model_options;

SUMI_API sumi_model_options sumi_model_defaults(void);

/* Load a model on a device (borrowed; must outlive the model). options may be NULL.
 * Errors: SUMI_EIO, SUMI_EFORMAT; SUMI_EUNSUPPORTED (architecture, tensor type or tokenizer, by name, with what is
 * supported); SUMI_ENOMEM (does not fit: both numbers); SUMI_ECANCELLED. */
SUMI_API sumi_status sumi_model_load(sumi_model **out, const char *path, sumi_device *device,
                                     const sumi_model_options *options, sumi_error *err);
SUMI_API void sumi_model_free(sumi_model *model); /* after its sessions */

typedef struct sumi_model_info {
    const char *arch;  /* "qwen3" */
    const char *name;  /* general.name or "" */
    const char *quant; /* the type that holds most weights: "Q1_0" */
    int64_t n_params;
    uint64_t weight_bytes;           /* on the device */
    uint64_t kv_bytes_per_token_f16; /* of the cache, default mode; exact mode takes twice as much */
    int32_t n_layers, n_heads, n_kv_heads, head_dim, hidden, ffn, vocab;
    int32_t max_tokens; /* the context the model was made for */
} sumi_model_info;

SUMI_API void sumi_model_get_info(const sumi_model *model,
                                  sumi_model_info *info); /* strings live as long as the model */

/* ---- Text ------------------------------------------------------------------------------------------- */

typedef struct sumi_token_list {
    int32_t *ids; /* owned; release with sumi_token_list_free */
    int64_t n;
} sumi_token_list;

SUMI_API void sumi_token_list_free(sumi_token_list *list); /* leaves it empty */

/* Token ids of n_bytes of text. parse_special: control tokens written in the text become their ids (for prompts
 * made by templates, never for what users typed). A BOS token is put first when the model asks for one. */
SUMI_API sumi_status sumi_tokenize(const sumi_model *model, const char *text, size_t n_bytes, bool parse_special,
                                   sumi_token_list *out, sumi_error *err);

/* The text of n ids, *text malloc'ed and NUL-terminated, *n_bytes without the NUL: the exact bytes the tokens stand
 * for. special: control tokens appear as their text, else as nothing. Errors: SUMI_EINVAL (id outside the
 * vocabulary). */
SUMI_API sumi_status sumi_detokenize(const sumi_model *model, const int32_t *ids, int64_t n, bool special,
                                     char **text, size_t *n_bytes, sumi_error *err);

typedef struct sumi_message {
    const char *role; /* "system", "user", "assistant" */
    const char *content;
} sumi_message;

/* The ids of a conversation in the model's chat template, ending where the assistant's answer begins. Text in
 * messages never becomes a control token. Errors: SUMI_EUNSUPPORTED (no template, or one this version cannot render).
 */
SUMI_API sumi_status sumi_chat_tokens(const sumi_model *model, const sumi_message *messages, int32_t n_messages,
                                      sumi_token_list *out, sumi_error *err);

/* A tokenizer without weights, for tools: a model that only the functions of this section accept. */
SUMI_API sumi_status sumi_model_load_vocab(sumi_model **out, const char *path, sumi_error *err);

/* ---- Session ---------------------------------------------------------------------------------------- */

typedef struct sumi_session sumi_session;

typedef struct sumi_session_options {
    int32_t max_tokens; /* context; 0: the model's. Above the model's is refused */
    bool exact;         /* float32 activations and cache; default int8 activations and fp16 cache */
} sumi_session_options;

SUMI_API sumi_session_options sumi_session_defaults(void);

/* One conversation. The model is borrowed and must outlive it. options may be NULL.
 * Errors: SUMI_EINVAL (max_tokens), SUMI_ENOMEM (the cache does not fit: both numbers).
 * Threads: one at a time per session; sessions of one model are independent. */
SUMI_API sumi_status sumi_session_new(sumi_session **out, sumi_model *model, const sumi_session_options *options,
                                      sumi_error *err);
SUMI_API void sumi_session_free(sumi_session *session);
SUMI_API int32_t sumi_session_n_tokens(const sumi_session *session); /* in the cache */
SUMI_API int32_t sumi_session_max_tokens(const sumi_session *session);

typedef enum sumi_logits_rows {
    SUMI_LOGITS_NONE, /* only fill the cache */
    SUMI_LOGITS_LAST, /* one row: what follows the last token */
    SUMI_LOGITS_ALL   /* one row per token of this call */
} sumi_logits_rows;

/* Append n tokens. Afterwards sumi_session_logits gives the rows asked for, until the next call on the session.
 * On failure the tokens are as before the call and there are no logits. Long inputs are evaluated in chunks; the
 * result does not depend on how a text is cut into calls, bit for bit. Errors: SUMI_EINVAL (n < 1, id outside the
 * vocabulary), SUMI_ELIMIT (context full: both numbers), SUMI_ENUMERIC (a logit is NaN or infinite: the layer where
 * numbers go bad), SUMI_ENOMEM, SUMI_EDEVICE. */
SUMI_API sumi_status sumi_session_eval(sumi_session *session, const int32_t *tokens, int32_t n, sumi_logits_rows rows,
                                       sumi_error *err);

/* Row i of the last evaluation, [vocab] float32, valid until the next call on the session; NULL if there is no such
 * row. */
SUMI_API const float *sumi_session_logits(const sumi_session *session, int32_t i_row);

/* Verify: append n tokens like sumi_session_eval and write to next[i] the greedy choice after tokens[0..i]. Undo
 * rejected ones with sumi_session_truncate. */
SUMI_API sumi_status sumi_session_verify(sumi_session *session, const int32_t *tokens, int32_t n, int32_t *next,
                                         sumi_error *err);

/* Keep the first n_tokens. Errors: SUMI_EINVAL (more than there are, or negative). */
SUMI_API sumi_status sumi_session_truncate(sumi_session *session, int32_t n_tokens, sumi_error *err);

/* The tokens in the cache, sumi_session_n_tokens of them; valid until the next call on the session. */
SUMI_API const int32_t *sumi_session_tokens(const sumi_session *session);

/* Copy of the cache's keys (which = 0) or values (1) of one layer as float32 [n_tokens][n_kv_heads][head_dim], for
 * tests and tools. */
SUMI_API sumi_status sumi_session_read_kv(const sumi_session *session, int32_t i_layer, int32_t which, float *dst,
                                          size_t n_floats, sumi_error *err);

/* ---- Sampling --------------------------------------------------------------------------------------- */

/* Applied in this order: penalties, top-k, top-p, min-p, temperature, draw. */
typedef struct sumi_sampling {
    float temperature;    /* 0.8; 0: the most likely token, lowest id on a tie */
    int32_t top_k;        /* 40; 0: off */
    float top_p;          /* 0.95; 1: off */
    float min_p;          /* 0.05; 0: off */
    float repeat_penalty; /* 1: off; logits of tokens in the window are divided (positive) or multiplied (negative) by
                             it */
    float presence_penalty;  /* 0: off */
    float frequency_penalty; /* 0: off */
    int32_t penalty_last_n;  /* 64: window of the penalties in tokens, up to 2^20; 0: off, -1: everything */
    uint64_t seed;           /* SUMI_SEED_RANDOM: from the system */
} sumi_sampling;

#define SUMI_SEED_RANDOM UINT64_MAX

SUMI_API sumi_sampling sumi_sampling_defaults(void); /* llama.cpp's values */

typedef struct sumi_sampler sumi_sampler;

/* Errors: SUMI_EINVAL naming the field and its range, SUMI_ENOMEM, SUMI_EIO (no seed from the system). */
SUMI_API sumi_status sumi_sampler_new(sumi_sampler **out, const sumi_sampling *sampling, int32_t vocab,
                                      sumi_error *err);
SUMI_API void sumi_sampler_free(sumi_sampler *sampler);
SUMI_API uint64_t
sumi_sampler_seed(const sumi_sampler *sampler); /* the seed in use, also when it came from the system */
/* Count a token for the penalties (prompt and generated). */
SUMI_API void sumi_sampler_accept(sumi_sampler *sampler, int32_t token);
/* Choose from the [vocab] logits that sumi_sampler_new was told of, which are not changed. Errors: SUMI_ENUMERIC (no
 * finite logit, NaN or inf winner). */
SUMI_API sumi_status sumi_sampler_sample(sumi_sampler *sampler, const float *logits, int32_t *token, sumi_error *err);

/* ---- Generation ------------------------------------------------------------------------------------- */

typedef enum sumi_finish {
    SUMI_FINISH_EOG,      /* the model ended its text */
    SUMI_FINISH_STOP,     /* a stop string */
    SUMI_FINISH_LENGTH,   /* max_new_tokens, or the context is full */
    SUMI_FINISH_CANCELLED /* the callback returned false */
} sumi_finish;

/* A piece of text: whole UTF-8 characters, n_bytes of them, never part of a stop string. Return false to stop.
 * Between chunks of a long prompt it is called with n_bytes 0, so that it can stop there too. */
typedef bool sumi_text_fn(void *user, const char *text, size_t n_bytes);

typedef struct sumi_generate_options {
    int32_t max_new_tokens;  /* < 0: until the end of the context */
    const char *const *stop; /* stop strings, not empty; the text before one is kept */
    int32_t n_stop;
    bool ignore_eog;       /* go on after an end-of-generation token */
    bool special;          /* show control tokens as text */
    sumi_text_fn *on_text; /* may be NULL */
    void *user;
} sumi_generate_options;

SUMI_API sumi_generate_options sumi_generate_defaults(void);

typedef struct sumi_generate_result {
    sumi_finish finish;
    int32_t n_prompt_tokens; /* given */
    int32_t n_cached_tokens; /* of those, found in the session's cache */
    int32_t n_new_tokens;
    double prompt_seconds, generate_seconds;
} sumi_generate_result;

/* Continue prompt: the session keeps the longest common prefix of its tokens and the prompt, evaluates the rest, and
 * samples until something ends it. Errors: those of sumi_session_eval and sumi_sampler_sample; SUMI_EINVAL (empty
 * prompt, empty stop string); SUMI_ELIMIT (prompt longer than the context: both numbers). */
SUMI_API sumi_status sumi_generate(sumi_session *session, sumi_sampler *sampler, const int32_t *prompt,
                                   int32_t n_prompt, const sumi_generate_options *options,
                                   sumi_generate_result *result, sumi_error *err);

/* ---- Perplexity ------------------------------------------------------------------------------------- */

typedef struct sumi_perplexity {
    double mean_nll, perplexity, stderr_perplexity;
    int64_t n_scored;
    int32_t n_windows;
} sumi_perplexity;

/* exp(mean negative log-likelihood) of the second half of each whole window of window_tokens tokens, windows
 * evaluated independently (as llama-perplexity does). progress counts windows. The session's content is replaced.
 * Errors: SUMI_EINVAL (window < 4 or above the session's context; less than two windows' worth of tokens). */
SUMI_API sumi_status sumi_perplexity_eval(sumi_session *session, const int32_t *tokens, int64_t n_tokens,
                                          int32_t window_tokens, sumi_progress_fn *progress, void *user,
                                          sumi_perplexity *out, sumi_error *err);

#ifdef __cplusplus
}
#endif
#endif
