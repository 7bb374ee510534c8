/* Byte-pair merging: the merge table of a vocabulary, and its use on one pre-token. */
#ifndef SUMI_TEXT_BPE_H
#define SUMI_TEXT_BPE_H

#include "text/ids.h"
#include "text/vocabulary.h"

typedef struct sumi_merge {
    int32_t left, right; /* ids; left -1: an empty slot */
    int32_t rank;        /* position in the file: lower merges first */
    int32_t result;      /* id of the joined text */
} sumi_merge;

typedef struct sumi_merges {
    sumi_merge *slots; /* hash table; n_slots is a power of two */
    uint32_t n_slots;
} sumi_merges;

/* m must be zero; on failure the caller still deinits it. Every merge must be "LEFT RIGHT" with parts that are not
 * empty. Since the result is the two texts joined it is longer than each, so merges cannot form a cycle. Of a pair
 * listed twice the first rank counts.
 * A merge whose parts are tokens and whose result is none has no meaning: refused. A part that is no token can never
 * appear, so such a merge never applies; in a vocabulary with all 256 bytes it shows that merges and tokens do not
 * belong together and is refused, in one without (placeholder vocabularies of synthetic models) it is skipped.
 * A merge that would produce a control token is skipped: text must never become one. */
sumi_status sumi_merges_init(sumi_merges *m, const sumi_vocabulary *v, const sumi_gguf *g, sumi_error *err);
void sumi_merges_deinit(sumi_merges *m);

/* Memory of merging, reused from one pre-token to the next. Zero-initialise. */
typedef struct sumi_bpe_scratch {
    struct sumi_bpe_symbol *symbols; /* [capacity] */
    uint64_t *heap;                  /* [2 * capacity] */
    int32_t capacity;
} sumi_bpe_scratch;

void sumi_bpe_scratch_deinit(sumi_bpe_scratch *scratch);

/* Append the tokens of one pre-token of n_bytes >= 1: repeatedly join the pair of lowest rank, leftmost first, until
 * none is left (Sennrich et al. 2016, "Neural Machine Translation of Rare Words with Subword Units", algorithm 1).
 * O(n log n). Errors: SUMI_EINVAL (a byte the vocabulary has no token for), SUMI_ENOMEM. */
sumi_status sumi_bpe_encode(const sumi_merges *m, const sumi_vocabulary *v, sumi_bpe_scratch *scratch,
                            const char *text, int32_t n_bytes, sumi_ids *ids, sumi_error *err);

#endif
