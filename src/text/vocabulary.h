/* The token table of a GGUF file: texts, types, the bytes each token stands for, and lookup by text. */
#ifndef SUMI_TEXT_VOCABULARY_H
#define SUMI_TEXT_VOCABULARY_H

#include "gguf/gguf.h"

/* Values of tokenizer.ggml.token_type. */
typedef enum sumi_token_type {
    SUMI_TOKEN_UNDEFINED,
    SUMI_TOKEN_NORMAL,
    SUMI_TOKEN_UNKNOWN,
    SUMI_TOKEN_CONTROL,
    SUMI_TOKEN_USER_DEFINED,
    SUMI_TOKEN_UNUSED,
    SUMI_TOKEN_BYTE
} sumi_token_type;

#define SUMI_MAX_VOCAB (1 << 24)

typedef struct sumi_vocabulary {
    int32_t n_tokens;
    sumi_str *texts; /* [n_tokens] as in the file, in its mapping */
    sumi_str *bytes; /* [n_tokens] what each token stands for, in byte_pool or the mapping */
    uint8_t *types;  /* [n_tokens] sumi_token_type */
    char *byte_pool; /* decoded bytes of all byte-level tokens */
    int32_t *slots;  /* hash table of ids, -1 empty; n_slots is a power of two */
    uint32_t n_slots;
    int32_t byte_ids[256]; /* the token of a single byte, -1: none */
} sumi_vocabulary;

/* v must be zero; on failure the caller still deinits it. Of tokens with equal text the lowest id is found.
 * The names of turn markers and ends of text (<|im_start|>, <|im_end|>, ...) are control tokens whatever the file
 * calls them, because text typed by a user must never become one. */
sumi_status sumi_vocabulary_init(sumi_vocabulary *v, const sumi_gguf *g, sumi_error *err);
void sumi_vocabulary_deinit(sumi_vocabulary *v);

int32_t sumi_vocabulary_find(const sumi_vocabulary *v, const char *text, size_t n_bytes); /* -1: absent */

/* The text of a token that ends a model's turn or text in some known family. */
bool sumi_vocabulary_is_end_name(sumi_str text);

#endif
