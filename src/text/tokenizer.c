/* The tokenizer object: loading, encoding, and what a token is. */
#include "text/tokenizer.h"

#include <stdlib.h>
#include <string.h>

#include "text/bpe.h"
#include "text/pretokenize.h"
#include "text/specials.h"

struct sumi_tokenizer {
    sumi_vocabulary vocabulary;
    sumi_merges merges;
    sumi_specials specials;
    sumi_pretokenizer *pretokenizer;
    bool add_bos;
    int32_t bos, eos, eot, eom; /* -1: none */
};

/* ---- Loading --------------------------------------------------------------------------------------------- */

static sumi_status check_model(const sumi_gguf *g, sumi_error *err)
{
    sumi_str model = { 0 };
    const sumi_status st = sumi_gguf_get_string(g, "tokenizer.ggml.model", true, &model, err);
    if (st) return st;
    if (model.n_bytes == 4 && memcmp(model.data, "gpt2", 4) == 0) return SUMI_OK;
    return sumi_fail(err, SUMI_EUNSUPPORTED, "%s: tokenizer.ggml.model \"%.*s\"; supported: gpt2", sumi_gguf_path(g),
                     (int)(model.n_bytes < 100 ? model.n_bytes : 100), model.data);
}

static sumi_status load_pretokenizer(sumi_tokenizer *t, const sumi_gguf *g, sumi_error *err)
{
    sumi_str pre = { "default", 7 };
    sumi_status st = sumi_gguf_get_string(g, "tokenizer.ggml.pre", false, &pre, err);
    if (st) return st;
    st = sumi_pretokenizer_new(&t->pretokenizer, pre, err);
    return st ? sumi_fail_prefix(err, st, "%s: tokenizer.ggml.pre", sumi_gguf_path(g)) : SUMI_OK;
}

/* An optional special id; -1 when absent. Any integer width. */
static sumi_status read_id(const sumi_gguf *g, const char *key, int32_t n_vocab, int32_t *out, sumi_error *err)
{
    int64_t id = -1;
    *out = -1;
    const sumi_status st = sumi_gguf_get_int(g, key, false, INT64_MIN, INT64_MAX, &id, err);
    if (st || !sumi_gguf_find_key(g, key)) return st;
    if (id < 0 || id >= n_vocab)
        return sumi_fail(err, SUMI_EFORMAT, "%s: %s: id %lld outside the vocabulary of %d tokens", sumi_gguf_path(g),
                         key, (long long)id, n_vocab);
    *out = (int32_t)id;
    return SUMI_OK;
}

/* Ids that nothing here uses are checked too: one out of range says the file is damaged. */
static sumi_status check_unused_ids(const sumi_gguf *g, int32_t n_vocab, sumi_error *err)
{
    static const char *const KEYS[] = { "tokenizer.ggml.unknown_token_id", "tokenizer.ggml.seperator_token_id",
                                        "tokenizer.ggml.padding_token_id", "tokenizer.ggml.cls_token_id",
                                        "tokenizer.ggml.mask_token_id",    "tokenizer.ggml.fim_pre_token_id",
                                        "tokenizer.ggml.fim_suf_token_id", "tokenizer.ggml.fim_mid_token_id",
                                        "tokenizer.ggml.fim_pad_token_id", "tokenizer.ggml.fim_rep_token_id",
                                        "tokenizer.ggml.fim_sep_token_id" };
    sumi_status st = SUMI_OK;
    int32_t id;
    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS && !st; i++) st = read_id(g, KEYS[i], n_vocab, &id, err);
    return st;
}

static sumi_status read_special_ids(sumi_tokenizer *t, const sumi_gguf *g, sumi_error *err)
{
    const int32_t n = t->vocabulary.n_tokens;
    sumi_status st = read_id(g, "tokenizer.ggml.bos_token_id", n, &t->bos, err);
    if (!st) st = read_id(g, "tokenizer.ggml.eos_token_id", n, &t->eos, err);
    if (!st) st = read_id(g, "tokenizer.ggml.eot_token_id", n, &t->eot, err);
    if (!st) st = read_id(g, "tokenizer.ggml.eom_token_id", n, &t->eom, err);
    if (!st) st = check_unused_ids(g, n, err);
    if (!st) st = sumi_gguf_get_bool(g, "tokenizer.ggml.add_bos_token", false, &t->add_bos, err);
    if (!st && t->add_bos && t->bos < 0)
        st = sumi_fail(err, SUMI_EFORMAT,
                       "%s: tokenizer.ggml.add_bos_token is true without tokenizer.ggml.bos_token_id",
                       sumi_gguf_path(g));
    return st;
}

sumi_status sumi_tokenizer_new(sumi_tokenizer **out, const sumi_gguf *g, sumi_error *err)
{
    *out = NULL;
    sumi_status st = check_model(g, err);
    if (st) return st;
    sumi_tokenizer *t = calloc(1, sizeof *t);
    if (!t) return sumi_fail(err, SUMI_ENOMEM, "tokenizer: %zu bytes", sizeof *t);
    st = load_pretokenizer(t, g, err);
    if (!st) st = sumi_vocabulary_init(&t->vocabulary, g, err);
    if (!st) st = sumi_merges_init(&t->merges, &t->vocabulary, g, err);
    if (!st) st = sumi_specials_init(&t->specials, &t->vocabulary, err);
    if (!st) st = read_special_ids(t, g, err);
    if (st) {
        sumi_tokenizer_free(t);
        return st;
    }
    *out = t;
    return SUMI_OK;
}

void sumi_tokenizer_free(sumi_tokenizer *t)
{
    if (!t) return;
    sumi_specials_deinit(&t->specials);
    sumi_merges_deinit(&t->merges);
    sumi_vocabulary_deinit(&t->vocabulary);
    sumi_pretokenizer_free(t->pretokenizer);
    free(t);
}

/* ---- Encoding -------------------------------------------------------------------------------------------- */

/* What one call needs besides the text; the tokenizer itself stays unchanged and shared. */
typedef struct encoder {
    const sumi_tokenizer *tokenizer;
    sumi_bpe_scratch scratch;
    sumi_pieces pieces;
    sumi_ids ids;
} encoder;

/* Text without special tokens. */
static sumi_status encode_plain(encoder *e, const char *text, size_t n_bytes, sumi_error *err)
{
    const sumi_tokenizer *t = e->tokenizer;
    if (n_bytes == 0) return SUMI_OK;
    sumi_status st = sumi_pretokenize(t->pretokenizer, text, n_bytes, &e->pieces, err);
    size_t begin = 0;
    for (size_t i = 0; i < e->pieces.n && !st; i++) {
        const size_t end = e->pieces.data[i];
        st = sumi_bpe_encode(&t->merges, &t->vocabulary, &e->scratch, text + begin, (int32_t)(end - begin), &e->ids,
                             err);
        begin = end;
    }
    return st;
}

static sumi_status encode_text(encoder *e, const char *text, size_t n_bytes, bool parse_special, sumi_error *err)
{
    const sumi_tokenizer *t = e->tokenizer;
    size_t begin = 0, at;
    int32_t id;
    while ((id = sumi_specials_next(&t->specials, text, n_bytes, begin, parse_special, &at)) >= 0) {
        sumi_status st = encode_plain(e, text + begin, at - begin, err);
        if (!st) st = sumi_ids_push(&e->ids, id, err);
        if (st) return st;
        begin = at + t->vocabulary.texts[id].n_bytes;
    }
    return encode_plain(e, text + begin, n_bytes - begin, err);
}

sumi_status sumi_tokenizer_encode(const sumi_tokenizer *t, const char *text, size_t n_bytes,
                                  const sumi_encode_options *options, int32_t **ids, int64_t *n_ids, sumi_error *err)
{
    *ids = NULL;
    *n_ids = 0;
    if (n_bytes > INT32_MAX) /* positions inside a pre-token are 32-bit */
        return sumi_fail(err, SUMI_ELIMIT, "text of %zu bytes; at most %d at once", n_bytes, INT32_MAX);
    encoder e = { .tokenizer = t };
    sumi_status st = sumi_ids_reserve(&e.ids, (int64_t)n_bytes / 4 + 16, err);
    if (!st && options->add_bos && t->add_bos) st = sumi_ids_push(&e.ids, t->bos, err);
    if (!st && n_bytes > 0) st = encode_text(&e, text, n_bytes, options->parse_special, err);
    sumi_bpe_scratch_deinit(&e.scratch);
    free(e.pieces.data);
    if (st) {
        free(e.ids.data);
        return st;
    }
    *ids = e.ids.data;
    *n_ids = e.ids.n;
    return SUMI_OK;
}

/* ---- Tokens ---------------------------------------------------------------------------------------------- */

static bool is_id(const sumi_tokenizer *t, int32_t id) { return id >= 0 && id < t->vocabulary.n_tokens; }

int32_t sumi_tokenizer_n_vocab(const sumi_tokenizer *t) { return t->vocabulary.n_tokens; }

sumi_str sumi_tokenizer_token_bytes(const sumi_tokenizer *t, int32_t id, bool special)
{
    if (!is_id(t, id) || (sumi_tokenizer_is_control(t, id) && !special)) return (sumi_str){ "", 0 };
    return t->vocabulary.bytes[id];
}

bool sumi_tokenizer_is_eog(const sumi_tokenizer *t, int32_t id)
{
    if (!is_id(t, id)) return false;
    if (id == t->eos || id == t->eot || id == t->eom) return true;
    return sumi_tokenizer_is_control(t, id) && sumi_vocabulary_is_end_name(t->vocabulary.texts[id]);
}

bool sumi_tokenizer_is_control(const sumi_tokenizer *t, int32_t id)
{
    return is_id(t, id) && t->vocabulary.types[id] == SUMI_TOKEN_CONTROL;
}

int32_t sumi_tokenizer_bos(const sumi_tokenizer *t) { return t->bos; }
int32_t sumi_tokenizer_eos(const sumi_tokenizer *t) { return t->eos; }

int32_t sumi_tokenizer_find(const sumi_tokenizer *t, const char *text, size_t n_bytes)
{
    return sumi_vocabulary_find(&t->vocabulary, text, n_bytes);
}
