/* Pre-tokenizers as lists of regular expressions, each applied to the pieces the one before left: what it matches
 * and what lies between its matches become pieces. A look-ahead sees no further than its piece. */
#include "text/pretokenize.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "text/utf8.h"

/* White_Space of the Unicode character database. PCRE2's own \s also takes U+180E, which lost the property. */
#define SPACE "\\t-\\r \\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}"

/* Radford et al. 2019 (GPT-2), encoder.py. Its final \s+ is what stays between matches here. */
#define GPT2 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^" SPACE "\\p{L}\\p{N}]+|[" SPACE "]+(?![^" SPACE "])"

/* tokenizer.json of Qwen 2, 2.5 and 3. */
#define QWEN2                                                                                                        \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^" SPACE "\\p{L}\\p{N}]+[\\r\\n]*|[" SPACE \
    "]*[\\r\\n]+|[" SPACE "]+(?![^" SPACE "])|[" SPACE "]+"

enum { MAX_STAGES = 4 };

typedef struct rule {
    const char *name;
    const char *patterns[MAX_STAGES + 1]; /* NULL-terminated */
} rule;

static const rule RULES[] = {
    { "qwen2", { QWEN2 } },
    { "gpt-2", { GPT2 } },
    /* For files that name no pre-tokenizer: the order of llama.cpp's LLAMA_VOCAB_PRE_TYPE_DEFAULT. */
    { "default", { "[\\p{P}$+<=>^~|]+", GPT2, "\\p{N}+", "[0-9][0-9][0-9]" } },
};

struct sumi_pretokenizer {
    pcre2_code *stages[MAX_STAGES];
    int32_t n_stages;
};

static const rule *find_rule(sumi_str name)
{
    for (size_t i = 0; i < sizeof RULES / sizeof *RULES; i++)
        if (strlen(RULES[i].name) == name.n_bytes && memcmp(RULES[i].name, name.data, name.n_bytes) == 0)
            return &RULES[i];
    return NULL;
}

static sumi_status compile(pcre2_code **code, const char *pattern, sumi_error *err)
{
    int error;
    PCRE2_SIZE offset;
    *code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP, &error, &offset, NULL);
    if (!*code) {
        char reason[128] = "";
        pcre2_get_error_message(error, (PCRE2_UCHAR *)reason, sizeof reason);
        return sumi_fail(err, error == PCRE2_ERROR_NOMEMORY ? SUMI_ENOMEM : SUMI_EUNSUPPORTED,
                         "pre-tokenizer expression, offset %zu: %s", offset, reason);
    }
    (void)pcre2_jit_compile(*code, PCRE2_JIT_COMPLETE); /* where JIT is not allowed the interpreter does the same */
    return SUMI_OK;
}

sumi_status sumi_pretokenizer_new(sumi_pretokenizer **out, sumi_str name, sumi_error *err)
{
    *out = NULL;
    const rule *r = find_rule(name);
    if (!r)
        return sumi_fail(err, SUMI_EUNSUPPORTED, "pre-tokenizer \"%.*s\"; supported: qwen2, gpt-2, default",
                         (int)(name.n_bytes < 100 ? name.n_bytes : 100), name.data);
    sumi_pretokenizer *p = calloc(1, sizeof *p);
    if (!p) return sumi_fail(err, SUMI_ENOMEM, "pre-tokenizer: %zu bytes", sizeof *p);
    for (; r->patterns[p->n_stages]; p->n_stages++) {
        const sumi_status st = compile(&p->stages[p->n_stages], r->patterns[p->n_stages], err);
        if (st) {
            sumi_pretokenizer_free(p);
            return st;
        }
    }
    *out = p;
    return SUMI_OK;
}

void sumi_pretokenizer_free(sumi_pretokenizer *p)
{
    if (!p) return;
    for (int32_t i = 0; i < p->n_stages; i++) pcre2_code_free(p->stages[i]);
    free(p);
}

/* ---- Splitting ------------------------------------------------------------------------------------------- */

typedef struct splitter {
    const sumi_pretokenizer *rules;
    const char *text;
    pcre2_match_data *match;
    sumi_pieces *pieces;
    sumi_error *err;
} splitter;

static sumi_status push_end(splitter *s, size_t end)
{
    sumi_pieces *p = s->pieces;
    if (p->n == p->capacity) {
        const size_t capacity = p->capacity + p->capacity / 2 + 64;
        size_t *data = realloc(p->data, capacity * sizeof *data);
        if (!data) return sumi_fail(s->err, SUMI_ENOMEM, "%zu pieces of text", capacity);
        p->data = data;
        p->capacity = capacity;
    }
    p->data[p->n++] = end;
    return SUMI_OK;
}

/* Split the valid UTF-8 of [begin, end) by the expressions from `stage` on. Recursion ends after MAX_STAGES. */
static sumi_status split(splitter *s, int32_t stage, size_t begin, size_t end)
{
    if (begin == end) return SUMI_OK;
    if (stage == s->rules->n_stages) return push_end(s, end);
    const PCRE2_SPTR subject = (PCRE2_SPTR)s->text + begin;
    size_t done = begin;
    while (done < end) {
        const int found = pcre2_match(s->rules->stages[stage], subject, end - begin, done - begin, PCRE2_NO_UTF_CHECK,
                                      s->match, NULL);
        if (found == PCRE2_ERROR_NOMATCH) break;
        if (found < 0) return sumi_fail(s->err, SUMI_ENOMEM, "pre-tokenizer: PCRE2 error %d", found);
        const size_t match_begin = begin + pcre2_get_ovector_pointer(s->match)[0];
        const size_t match_end = begin + pcre2_get_ovector_pointer(s->match)[1]; /* no expression matches nothing */
        sumi_status st = split(s, stage + 1, done, match_begin);
        if (!st) st = split(s, stage + 1, match_begin, match_end);
        if (st) return st;
        done = match_end;
    }
    return split(s, stage + 1, done, end);
}

/* The end of the run of valid, or of invalid, bytes that begins at `begin`. */
static size_t find_run_end(const char *text, size_t begin, size_t n_bytes, bool *is_valid)
{
    size_t at = begin;
    while (at < n_bytes) {
        int32_t n;
        const bool valid = sumi_utf8_scan((const uint8_t *)text + at, n_bytes - at, &n) == SUMI_UTF8_CHARACTER;
        if (at > begin && valid != *is_valid) break;
        *is_valid = valid;
        at += (size_t)n;
    }
    return at;
}

sumi_status sumi_pretokenize(const sumi_pretokenizer *p, const char *text, size_t n_bytes, sumi_pieces *pieces,
                             sumi_error *err)
{
    pieces->n = 0;
    splitter s = { p, text, pcre2_match_data_create(1, NULL), pieces, err };
    if (!s.match) return sumi_fail(err, SUMI_ENOMEM, "pre-tokenizer: match data");
    sumi_status st = SUMI_OK;
    for (size_t at = 0; at < n_bytes && !st;) {
        bool is_valid = true;
        const size_t end = find_run_end(text, at, n_bytes, &is_valid);
        st = is_valid ? split(&s, 0, at, end) : push_end(&s, end);
        at = end;
    }
    pcre2_match_data_free(s.match);
    return st;
}
