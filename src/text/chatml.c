/* ChatML prompts, and recognising the template that asks for them. */
#include "text/tokenizer.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "text/ids.h"

/* ---- Recognising ------------------------------------------------------------------------------------------
 * A template is brought to one spelling and compared with the spellings known to mean plain ChatML. Anything else
 * in it (tools, thinking, a default system prompt) makes it differ, so it is never taken for what it is not. */

#define TURNS                                                                                             \
    "{%formessageinmessages%}{{'<|im_start|>'+message['role']+'\\n'+message['content']+'<|im_end|>\\n'}}" \
    "{%endfor%}"
#define GENERATION_PROMPT "{%ifadd_generation_prompt%}{{'<|im_start|>assistant\\n'}}{%endif%}"
#define PROMPT_DEFAULT "{%ifnotadd_generation_promptisdefined%}{%setadd_generation_prompt=false%}{%endif%}"

static const char *const PLAIN_CHATML[] = { TURNS GENERATION_PROMPT, PROMPT_DEFAULT TURNS GENERATION_PROMPT };

enum { MAX_CANONICAL_BYTES = 512 };

/* The one spelling: no space outside string literals, single quotes, message['x'] for message.x, neighbouring
 * literals and neighbouring output tags joined, no whitespace-control marks. */
typedef struct canonical {
    char text[MAX_CANONICAL_BYTES];
    size_t n;
    bool overflows;
} canonical;

static void put(canonical *c, const char *bytes, size_t n)
{
    if (n > sizeof c->text - c->n) {
        c->overflows = true;
        return;
    }
    memcpy(c->text + c->n, bytes, n);
    c->n += n;
}

static bool ends_with(const canonical *c, const char *suffix)
{
    const size_t n = strlen(suffix);
    return c->n >= n && memcmp(c->text + c->n - n, suffix, n) == 0;
}

/* Copy a string literal that begins at p with its quote; returns what follows it. */
static const char *put_literal(canonical *c, const char *p, const char *end)
{
    const char quote = *p++;
    if (ends_with(c, "'+"))
        c->n -= 2;
    else
        put(c, "'", 1);
    for (; p < end && *p != quote; p++) {
        if (*p == '\\' && p + 1 < end)
            put(c, p++, 2);
        else if (*p == '\n')
            put(c, "\\n", 2);
        else if (*p == '\'')
            put(c, "\\'", 2);
        else
            put(c, p, 1);
    }
    put(c, "'", 1);
    return p < end ? p + 1 : end;
}

static const char *put_attribute(canonical *c, const char *p, const char *end)
{
    put(c, "['", 2);
    for (p++; p < end && (isalnum((unsigned char)*p) || *p == '_'); p++) put(c, p, 1);
    put(c, "']", 2);
    return p;
}

/* Copy a tag's inside from p to its closing mark ("}}" or "%}"); returns what follows that, or NULL without one. */
static const char *put_tag(canonical *c, const char *p, const char *end)
{
    const char kind = p[1], close[2] = { kind == '{' ? '}' : '%', '}' };
    if (kind == '{' && ends_with(c, "}}")) {
        c->n -= 2;
        put(c, "+", 1);
    } else {
        put(c, p, 2);
    }
    p += p + 2 < end && p[2] == '-' ? 3 : 2;
    while (end - p >= 2 && !c->overflows) {
        if (*p == '-' && end - p >= 3 && memcmp(p + 1, close, 2) == 0) p++;
        if (memcmp(p, close, 2) == 0) {
            put(c, close, 2);
            return p + 2;
        }
        if (*p == '\'' || *p == '"')
            p = put_literal(c, p, end);
        else if (*p == '.')
            p = put_attribute(c, p, end);
        else if (isspace((unsigned char)*p))
            p++;
        else
            put(c, p++, 1);
    }
    return NULL;
}

static const char *find_tag(const char *p, const char *end)
{
    for (; end - p >= 2; p++)
        if (*p == '{' && (p[1] == '{' || p[1] == '%' || p[1] == '#')) return p;
    return end;
}

/* Text between tags is output. Of pure white space only what Jinja drops is accepted: all next to a "-" mark, and
 * the newline after a block (chat templates are rendered with trim_blocks). */
static void put_raw(canonical *c, const char *start, const char *p, const char *tag, const char *end)
{
    const bool strip_left = p - start >= 3 && p[-3] == '-', strip_right = end - tag >= 3 && tag[2] == '-';
    if (p - start >= 2 && p[-2] == '%' && p < tag && *p == '\n') p++;
    if (strip_left || tag == end) /* the end of a template is trimmed when files are made */
        while (p < tag && isspace((unsigned char)*p)) p++;
    while (strip_right && tag > p && isspace((unsigned char)tag[-1])) tag--;
    put(c, p, (size_t)(tag - p));
}

static bool canonicalise(canonical *c, sumi_str text)
{
    const char *p = text.data, *end = text.data + text.n_bytes;
    while (p && !c->overflows) {
        const char *tag = find_tag(p, end);
        put_raw(c, text.data, p, tag, end);
        if (tag == end) return !c->overflows;
        p = put_tag(c, tag, end);
    }
    return false;
}

sumi_template sumi_template_kind(const sumi_gguf *g)
{
    sumi_str text = { 0 };
    if (!sumi_gguf_find_key(g, "tokenizer.chat_template")) return SUMI_TEMPLATE_NONE;
    if (sumi_gguf_get_string(g, "tokenizer.chat_template", true, &text, NULL)) return SUMI_TEMPLATE_UNKNOWN;
    canonical c = { .n = 0 };
    if (!canonicalise(&c, text)) return SUMI_TEMPLATE_UNKNOWN;
    for (size_t i = 0; i < sizeof PLAIN_CHATML / sizeof *PLAIN_CHATML; i++)
        if (c.n == strlen(PLAIN_CHATML[i]) && memcmp(c.text, PLAIN_CHATML[i], c.n) == 0) return SUMI_TEMPLATE_CHATML;
    return SUMI_TEMPLATE_UNKNOWN;
}

/* ---- Encoding --------------------------------------------------------------------------------------------- */

typedef struct chatml {
    const sumi_tokenizer *tokenizer;
    int32_t start, end; /* <|im_start|>, <|im_end|> */
    sumi_ids ids;
} chatml;

static sumi_status find_marker(const sumi_tokenizer *t, const char *text, int32_t *id, sumi_error *err)
{
    *id = sumi_tokenizer_find(t, text, strlen(text));
    if (*id >= 0) return SUMI_OK;
    return sumi_fail(err, SUMI_EUNSUPPORTED, "ChatML: the vocabulary of %d tokens has no %s",
                     sumi_tokenizer_n_vocab(t), text);
}

/* Append plain text: no control token can come out of it. */
static sumi_status append_text(chatml *c, const char *text, size_t n_bytes, bool add_bos, sumi_error *err)
{
    const sumi_encode_options options = { .parse_special = false, .add_bos = add_bos };
    int32_t *ids;
    int64_t n;
    sumi_status st = sumi_tokenizer_encode(c->tokenizer, text, n_bytes, &options, &ids, &n, err);
    if (!st) st = sumi_ids_reserve(&c->ids, n, err);
    if (!st && n > 0) memcpy(c->ids.data + c->ids.n, ids, (size_t)n * sizeof *ids);
    if (!st) c->ids.n += n;
    free(ids); /* NULL when encoding failed */
    return st;
}

/* Role, newline and content are one text to the tokenizer, as in the rendered template. */
static sumi_status append_turn(chatml *c, const sumi_turn *turn, sumi_error *err)
{
    const size_t n_role = strlen(turn->role), n_content = strlen(turn->content);
    char *text = malloc(n_role + 1 + n_content);
    if (!text) return sumi_fail(err, SUMI_ENOMEM, "chat turn of %zu bytes", n_content);
    memcpy(text, turn->role, n_role);
    text[n_role] = '\n';
    memcpy(text + n_role + 1, turn->content, n_content);
    sumi_status st = sumi_ids_push(&c->ids, c->start, err);
    if (!st) st = append_text(c, text, n_role + 1 + n_content, false, err);
    if (!st) st = sumi_ids_push(&c->ids, c->end, err);
    if (!st) st = append_text(c, "\n", 1, false, err);
    free(text);
    return st;
}

static sumi_status append_all(chatml *c, const sumi_turn *turns, int32_t n_turns, bool add_generation_prompt,
                              sumi_error *err)
{
    static const char assistant[] = "assistant\n";
    sumi_status st = append_text(c, "", 0, true, err); /* the BOS token alone, once, where the file asks for it */
    for (int32_t i = 0; i < n_turns && !st; i++) {
        if (!turns[i].role || !turns[i].content)
            return sumi_fail(err, SUMI_EINVAL, "chat turn %d of %d: no %s", i, n_turns,
                             turns[i].role ? "content" : "role");
        st = append_turn(c, &turns[i], err);
    }
    if (st || !add_generation_prompt) return st;
    st = sumi_ids_push(&c->ids, c->start, err);
    return st ? st : append_text(c, assistant, sizeof assistant - 1, false, err);
}

sumi_status sumi_chatml_encode(const sumi_tokenizer *t, const sumi_turn *turns, int32_t n_turns,
                               bool add_generation_prompt, int32_t **ids, int64_t *n_ids, sumi_error *err)
{
    *ids = NULL;
    *n_ids = 0;
    chatml c = { .tokenizer = t };
    sumi_status st = find_marker(t, "<|im_start|>", &c.start, err);
    if (!st) st = find_marker(t, "<|im_end|>", &c.end, err);
    if (!st) st = append_all(&c, turns, n_turns, add_generation_prompt, err);
    if (st) {
        free(c.ids.data);
        return st;
    }
    *ids = c.ids.data;
    *n_ids = c.ids.n;
    return SUMI_OK;
}
