/* Loading and checking the token table. Merges are bpe.c's, special-token search is specials.c's. */
#include "text/vocabulary.h"

#include <stdlib.h>
#include <string.h>

#include "text/utf8.h"

/* ---- Known names ------------------------------------------------------------------------------------- */

static const char *const END_NAMES[] = { "<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|eom_id|>",
                                         "<|end|>",    "<end_of_turn>", "<|eot|>",    "<|end_of_text|>",
                                         "<|return|>", "<|call|>",      "<EOT>",      "_<EOT>" };

static const char *const START_NAMES[] = { "<|im_start|>", "<|start_header_id|>", "<|end_header_id|>",
                                           "<start_of_turn>" };

static bool is_one_of(sumi_str text, const char *const *names, size_t n_names)
{
    for (size_t i = 0; i < n_names; i++)
        if (text.n_bytes == strlen(names[i]) && memcmp(text.data, names[i], text.n_bytes) == 0) return true;
    return false;
}

bool sumi_vocabulary_is_end_name(sumi_str text)
{
    return is_one_of(text, END_NAMES, sizeof END_NAMES / sizeof *END_NAMES);
}

static bool is_turn_marker(sumi_str text)
{
    if (text.n_bytes < 5 || (text.data[0] != '<' && text.data[0] != '_')) return false;
    return sumi_vocabulary_is_end_name(text) ||
           is_one_of(text, START_NAMES, sizeof START_NAMES / sizeof *START_NAMES);
}

/* ---- Bytes of a token ---------------------------------------------------------------------------------- */

/* GPT-2 writes each byte as a printable character: 0x21-0x7e, 0xa1-0xac and 0xae-0xff as the code point of the same
 * value, the other 68 in increasing order from U+0100 (Radford et al. 2019, encoder.py: bytes_to_unicode). */
static bool is_own_character(int byte)
{
    return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

/* code_points[byte], and the inverse of the shifted ones: shifted[code point - 0x100]. */
static void make_byte_map(uint16_t code_points[256], uint8_t shifted[68])
{
    int n_shifted = 0;
    for (int byte = 0; byte < 256; byte++) {
        if (is_own_character(byte)) {
            code_points[byte] = (uint16_t)byte;
        } else {
            shifted[n_shifted] = (uint8_t)byte;
            code_points[byte] = (uint16_t)(0x100 + n_shifted++);
        }
    }
}

/* The byte that the character at p stands for, or -1. Every mapped character is below U+0800: at most 2 bytes. */
static int mapped_byte(const uint8_t *p, int32_t n_bytes, const uint8_t shifted[68])
{
    if (n_bytes > 2) return -1;
    const int c = n_bytes == 1 ? p[0] : (p[0] & 0x1f) << 6 | (p[1] & 0x3f);
    if (c < 0x100) return is_own_character(c) ? c : -1;
    return c < 0x100 + 68 ? shifted[c - 0x100] : -1;
}

/* Decode a byte-level text to dst, which has room for its length. Characters outside the byte map, as in
 * placeholders such as "<a b>", stand for themselves, so no token silently loses text. */
static size_t decode_byte_level(sumi_str text, const uint8_t shifted[68], char *dst)
{
    const uint8_t *p = (const uint8_t *)text.data;
    size_t n_out = 0;
    for (size_t i = 0; i < text.n_bytes;) {
        int32_t n_bytes;
        const sumi_utf8_kind kind = sumi_utf8_scan(p + i, text.n_bytes - i, &n_bytes);
        const int byte = kind == SUMI_UTF8_CHARACTER ? mapped_byte(p + i, n_bytes, shifted) : -1;
        if (byte >= 0) {
            dst[n_out++] = (char)byte;
        } else {
            memcpy(dst + n_out, p + i, (size_t)n_bytes);
            n_out += (size_t)n_bytes;
        }
        i += (size_t)n_bytes;
    }
    return n_out;
}

static void decode_tokens(sumi_vocabulary *v, const uint8_t shifted[68])
{
    char *pool = v->byte_pool;
    for (int32_t id = 0; id < v->n_tokens; id++) {
        if (v->types[id] == SUMI_TOKEN_CONTROL || v->types[id] == SUMI_TOKEN_USER_DEFINED) {
            v->bytes[id] = v->texts[id];
            continue;
        }
        const size_t n_bytes = decode_byte_level(v->texts[id], shifted, pool);
        v->bytes[id] = (sumi_str){ pool, n_bytes };
        pool += n_bytes;
    }
}

static void find_byte_tokens(sumi_vocabulary *v, const uint16_t code_points[256])
{
    for (int byte = 0; byte < 256; byte++) {
        const uint16_t c = code_points[byte];
        const char text[2] = { (char)(c < 0x80 ? c : 0xc0 | c >> 6), (char)(0x80 | (c & 0x3f)) };
        const int32_t id = sumi_vocabulary_find(v, text, c < 0x80 ? 1 : 2);
        v->byte_ids[byte] = id >= 0 && v->types[id] != SUMI_TOKEN_CONTROL ? id : -1;
    }
}

/* ---- Lookup -------------------------------------------------------------------------------------------- */

/* FNV-1a, with a final mix because the table uses the low bits. */
static uint32_t hash_text(const char *text, size_t n_bytes)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n_bytes; i++) h = (h ^ (uint8_t)text[i]) * 0x100000001b3u;
    return (uint32_t)(h >> 32 ^ h);
}

/* The slot that holds the text, or the empty one where it belongs. */
static uint32_t find_slot(const sumi_vocabulary *v, const char *text, size_t n_bytes)
{
    const uint32_t mask = v->n_slots - 1;
    uint32_t i = hash_text(text, n_bytes) & mask;
    for (; v->slots[i] >= 0; i = (i + 1) & mask) {
        const sumi_str *s = &v->texts[v->slots[i]];
        if (s->n_bytes == n_bytes && (n_bytes == 0 || memcmp(s->data, text, n_bytes) == 0)) break;
    }
    return i;
}

int32_t sumi_vocabulary_find(const sumi_vocabulary *v, const char *text, size_t n_bytes)
{
    return v->slots[find_slot(v, text, n_bytes)];
}

static void fill_slots(sumi_vocabulary *v)
{
    memset(v->slots, 0xff, v->n_slots * sizeof *v->slots);
    for (int32_t id = 0; id < v->n_tokens; id++) {
        const uint32_t i = find_slot(v, v->texts[id].data, v->texts[id].n_bytes);
        if (v->slots[i] < 0) v->slots[i] = id;
    }
}

/* ---- Arrays of the file -------------------------------------------------------------------------------- */

static sumi_status find_tokens(const sumi_gguf *g, const sumi_gguf_key **key, sumi_error *err)
{
    const char *name = "tokenizer.ggml.tokens";
    const sumi_gguf_key *k = sumi_gguf_find_key(g, name);
    if (!k) return sumi_fail(err, SUMI_EFORMAT, "%s: %s: missing", sumi_gguf_path(g), name);
    if (k->type != SUMI_GGUF_ARRAY || k->element_type != SUMI_GGUF_STRING)
        return sumi_fail(err, SUMI_EFORMAT, "%s: %s: not an array of strings", sumi_gguf_path(g), name);
    if (k->n < 1 || k->n > SUMI_MAX_VOCAB)
        return sumi_fail(err, SUMI_EFORMAT, "%s: %s: %llu tokens, not in 1..%d", sumi_gguf_path(g), name,
                         (unsigned long long)k->n, SUMI_MAX_VOCAB);
    *key = k;
    return SUMI_OK;
}

/* An optional array with one element per token. *key is NULL when the file has none. */
static sumi_status find_parallel_array(const sumi_gguf *g, const char *name, bool integers, int32_t n_tokens,
                                       const sumi_gguf_key **key, sumi_error *err)
{
    const sumi_gguf_key *k = *key = sumi_gguf_find_key(g, name);
    if (!k) return SUMI_OK;
    const bool is_float = k->element_type == SUMI_GGUF_F32 || k->element_type == SUMI_GGUF_F64;
    const bool fits = integers ? sumi_gguf_type_is_int(k->element_type) : is_float;
    if (k->type != SUMI_GGUF_ARRAY || !fits)
        return sumi_fail(err, SUMI_EFORMAT, "%s: %s: not an array of %s", sumi_gguf_path(g), name,
                         integers ? "integers" : "floats");
    if (k->n != (uint64_t)n_tokens)
        return sumi_fail(err, SUMI_EFORMAT, "%s: %s: %llu elements for %d tokens", sumi_gguf_path(g), name,
                         (unsigned long long)k->n, n_tokens);
    return SUMI_OK;
}

static sumi_status read_types(sumi_vocabulary *v, const sumi_gguf *g, sumi_error *err)
{
    const char *name = "tokenizer.ggml.token_type";
    const sumi_gguf_key *types, *scores;
    sumi_status st = find_parallel_array(g, name, true, v->n_tokens, &types, err);
    if (!st) st = find_parallel_array(g, "tokenizer.ggml.scores", false, v->n_tokens, &scores, err);
    if (st) return st;
    for (int32_t id = 0; id < v->n_tokens; id++) {
        const int64_t type = types ? sumi_gguf_int_at(types, (uint64_t)id) : SUMI_TOKEN_NORMAL;
        if (type < SUMI_TOKEN_UNDEFINED || type > SUMI_TOKEN_BYTE)
            return sumi_fail(err, SUMI_EFORMAT, "%s: %s: %lld at token %d, not in %d..%d", sumi_gguf_path(g), name,
                             (long long)type, id, SUMI_TOKEN_UNDEFINED, SUMI_TOKEN_BYTE);
        v->types[id] = is_turn_marker(v->texts[id]) ? SUMI_TOKEN_CONTROL : (uint8_t)type;
    }
    return SUMI_OK;
}

static sumi_status allocate(sumi_vocabulary *v, const sumi_gguf_key *tokens, sumi_error *err)
{
    const size_t n = (size_t)tokens->n;
    v->n_tokens = (int32_t)n;
    v->n_slots = 16;
    while (v->n_slots < 2 * n) v->n_slots *= 2;
    v->texts = malloc(n * sizeof *v->texts);
    v->bytes = malloc(n * sizeof *v->bytes);
    v->types = malloc(n);
    v->byte_pool = malloc(tokens->n_bytes + 1); /* decoding never lengthens a text */
    v->slots = malloc(v->n_slots * sizeof *v->slots);
    if (v->texts && v->bytes && v->types && v->byte_pool && v->slots) return SUMI_OK;
    return sumi_fail(err, SUMI_ENOMEM, "vocabulary of %zu tokens, %zu bytes of text", n, tokens->n_bytes);
}

sumi_status sumi_vocabulary_init(sumi_vocabulary *v, const sumi_gguf *g, sumi_error *err)
{
    const sumi_gguf_key *tokens = NULL;
    sumi_status st = find_tokens(g, &tokens, err);
    if (!st) st = allocate(v, tokens, err);
    if (st) return st;

    const uint8_t *cursor = tokens->data;
    for (int32_t id = 0; id < v->n_tokens; id++) v->texts[id] = sumi_gguf_next_string(&cursor);
    st = read_types(v, g, err);
    if (st) return st;

    uint16_t code_points[256];
    uint8_t shifted[68];
    make_byte_map(code_points, shifted);
    decode_tokens(v, shifted);
    fill_slots(v);
    find_byte_tokens(v, code_points);
    return SUMI_OK;
}

void sumi_vocabulary_deinit(sumi_vocabulary *v)
{
    free(v->texts);
    free(v->bytes);
    free(v->types);
    free(v->byte_pool);
    free(v->slots);
    *v = (sumi_vocabulary){ 0 };
}
