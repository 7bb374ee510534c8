/* Byte-level BPE from a GGUF file's tokenizer.* keys ("gpt2" model), and its inverse. */
#ifndef SUMI_TEXT_TOKENIZER_H
#define SUMI_TEXT_TOKENIZER_H

#include "gguf/gguf.h"

typedef struct sumi_tokenizer sumi_tokenizer;

/* Borrows g, which must outlive it. Checks everything: lengths of the arrays against each other, merges (the rule is
 * in bpe.h), special ids in range. Of tokens with equal text the lowest id is the one found and produced.
 * Errors: SUMI_EFORMAT; SUMI_EUNSUPPORTED (another tokenizer model or pre-tokenizer, by name, with the list of
 * supported ones); SUMI_ENOMEM. */
sumi_status sumi_tokenizer_new(sumi_tokenizer **out, const sumi_gguf *g, sumi_error *err);
void sumi_tokenizer_free(sumi_tokenizer *t);
int32_t sumi_tokenizer_n_vocab(const sumi_tokenizer *t);

/* Append the ids of n_bytes of text to a growing array. parse_special: control and user-defined tokens written
 * in the text become their ids; otherwise user-defined tokens still do and control tokens never. add_bos: put
 * the BOS token first when the file says so (tokenizer.ggml.add_bos_token).
 * Of special tokens the first in the text wins, the longest of those that begin there. Any bytes are accepted, NUL
 * and invalid UTF-8 too. Thread-safe. On success *ids is malloc'ed, the caller frees it; on failure it is NULL.
 * Errors: SUMI_EINVAL (a byte the vocabulary has no token for), SUMI_ELIMIT (more than 2^31 - 1 bytes), SUMI_ENOMEM.
 */
typedef struct sumi_encode_options {
    bool parse_special, add_bos;
} sumi_encode_options;
sumi_status sumi_tokenizer_encode(const sumi_tokenizer *t, const char *text, size_t n_bytes,
                                  const sumi_encode_options *options, int32_t **ids, int64_t *n_ids, sumi_error *err);

/* Bytes of one token, valid as long as t. Control tokens: their text when `special`, else nothing. An id out of
 * range gives an empty string. */
sumi_str sumi_tokenizer_token_bytes(const sumi_tokenizer *t, int32_t id, bool special);

bool sumi_tokenizer_is_eog(const sumi_tokenizer *t,
                           int32_t id); /* end of generation: eos, eot, eom, by id and name */
bool sumi_tokenizer_is_control(const sumi_tokenizer *t, int32_t id);
int32_t sumi_tokenizer_bos(const sumi_tokenizer *t); /* -1: none; likewise below */
int32_t sumi_tokenizer_eos(const sumi_tokenizer *t);
int32_t sumi_tokenizer_find(const sumi_tokenizer *t, const char *text,
                            size_t n_bytes); /* id of an exact token text as in the file, or -1 */

/* ---- Incremental detokenizer: tokens in, whole UTF-8 characters out --------------------------------- */

/* Holds at most 3 bytes of an unfinished character. Zero-initialise. */
typedef struct sumi_utf8_stream {
    uint8_t pending[4];
    int32_t n_pending;
} sumi_utf8_stream;

/* Push n bytes; writes to dst (room for 3 * (n + 4) bytes: an invalid byte becomes U+FFFD, 3 bytes) all complete
 * characters and returns their byte count. Invalid bytes that began a character become one U+FFFD together, others
 * one each (utf8.h). flush: the stream ends, so an unfinished tail comes out as one U+FFFD. */
size_t sumi_utf8_push(sumi_utf8_stream *s, const uint8_t *bytes, size_t n, bool flush, char *dst);

/* ---- Chat prompts ------------------------------------------------------------------------------------ */

typedef struct sumi_turn {
    const char *role, *content;
} sumi_turn;

typedef enum sumi_template { SUMI_TEMPLATE_NONE, SUMI_TEMPLATE_CHATML, SUMI_TEMPLATE_UNKNOWN } sumi_template;

/* What tokenizer.chat_template is: absent; plain ChatML, whatever its spelling; something else, which includes
 * templates that add tools, thinking or a system prompt to ChatML. */
sumi_template sumi_template_kind(const sumi_gguf *g);

/* The ChatML prompt's ids: "<|im_start|>ROLE\nCONTENT<|im_end|>\n" per turn, then "<|im_start|>assistant\n" when
 * add_generation_prompt. Control tokens come from the template only: CONTENT is encoded as plain text, so text typed
 * by a user never becomes a control token. Same ownership as sumi_tokenizer_encode. */
sumi_status sumi_chatml_encode(const sumi_tokenizer *t, const sumi_turn *turns, int32_t n_turns,
                               bool add_generation_prompt, int32_t **ids, int64_t *n_ids, sumi_error *err);

#endif
