/* Cutting text into the pieces that byte-pair merging may not cross. */
#ifndef SUMI_TEXT_PRETOKENIZE_H
#define SUMI_TEXT_PRETOKENIZE_H

#include "gguf/gguf.h"

typedef struct sumi_pretokenizer sumi_pretokenizer;

/* name: the value of tokenizer.ggml.pre. Errors: SUMI_EUNSUPPORTED with the supported names; SUMI_ENOMEM. */
sumi_status sumi_pretokenizer_new(sumi_pretokenizer **out, sumi_str name, sumi_error *err);
void sumi_pretokenizer_free(sumi_pretokenizer *p);

/* Ends of pieces, increasing; the last is the length of the text. Zero-initialise; release with free(data). */
typedef struct sumi_pieces {
    size_t *data;
    size_t n, capacity;
} sumi_pieces;

/* Replace *pieces by those of a text. Any bytes: a run of bytes that is no UTF-8 is a piece of its own, so the
 * expressions only see valid text and nothing is lost. Thread-safe. Errors: SUMI_ENOMEM. */
sumi_status sumi_pretokenize(const sumi_pretokenizer *p, const char *text, size_t n_bytes, sumi_pieces *pieces,
                             sumi_error *err);

#endif
