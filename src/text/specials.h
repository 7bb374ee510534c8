/* Finding control and user-defined tokens written in a text. */
#ifndef SUMI_TEXT_SPECIALS_H
#define SUMI_TEXT_SPECIALS_H

#include "text/vocabulary.h"

typedef struct sumi_specials {
    int32_t *ids;                      /* sorted by text, then id; lookup narrows a range byte by byte */
    int32_t first_by_byte[257];        /* ids[first_by_byte[b] .. first_by_byte[b + 1]) begin with byte b */
    const sumi_vocabulary *vocabulary; /* borrowed */
} sumi_specials;

/* s must be zero. Errors: SUMI_ENOMEM. */
sumi_status sumi_specials_init(sumi_specials *s, const sumi_vocabulary *v, sumi_error *err);
void sumi_specials_deinit(sumi_specials *s);

/* The first special token at or after `from`, the longest if several begin there: its id and place, or -1.
 * Control tokens take part only when `control`. Costs O(n + longest token * log(special tokens)) for texts where
 * special tokens do not overlap, whatever their number. */
int32_t sumi_specials_next(const sumi_specials *s, const char *text, size_t n_bytes, size_t from, bool control,
                           size_t *at);

#endif
