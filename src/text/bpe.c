/* Merge table and merging. Symbols form a linked list over the bytes of a pre-token; a heap of (rank, position)
 * gives the next pair to join. Entries of pairs that changed meanwhile are recognised when they come out. */
#include "text/bpe.h"

#include <string.h>

/* ---- Merge table --------------------------------------------------------------------------------------- */

static uint32_t hash_pair(int32_t left, int32_t right)
{
    const uint64_t pair = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    return (uint32_t)(pair * 0x9e3779b97f4a7c15u >> 32 ^ pair * 0x9e3779b97f4a7c15u >> 11);
}

/* The slot of a pair, or the empty one where it belongs. */
static sumi_merge *find_slot(const sumi_merges *m, int32_t left, int32_t right)
{
    const uint32_t mask = m->n_slots - 1;
    uint32_t i = hash_pair(left, right) & mask;
    while (m->slots[i].left >= 0 && (m->slots[i].left != left || m->slots[i].right != right)) i = (i + 1) & mask;
    return &m->slots[i];
}

static bool has_all_bytes(const sumi_vocabulary *v)
{
    for (int byte = 0; byte < 256; byte++)
        if (v->byte_ids[byte] < 0) return false;
    return true;
}

static sumi_status refuse_merge(const sumi_gguf *g, int32_t rank, sumi_str text, const char *why, sumi_error *err)
{
    return sumi_fail(err, SUMI_EFORMAT, "%s: tokenizer.ggml.merges: merge %d \"%.*s\": %s", sumi_gguf_path(g), rank,
                     (int)(text.n_bytes < 100 ? text.n_bytes : 100), text.data, why);
}

/* LEFT and RIGHT are separated by the first space that leaves LEFT a character. */
static const char *find_separator(sumi_str text)
{
    const char *space = text.n_bytes > 2 ? memchr(text.data + 1, ' ', text.n_bytes - 1) : NULL;
    return space && space + 1 < text.data + text.n_bytes ? space : NULL;
}

/* `joined` has room for the text. `strict`: parts must be tokens. */
static sumi_status add_merge(sumi_merges *m, const sumi_vocabulary *v, const sumi_gguf *g, int32_t rank,
                             sumi_str text, bool strict, char *joined, sumi_error *err)
{
    const char *space = find_separator(text);
    if (!space) return refuse_merge(g, rank, text, "not \"LEFT RIGHT\"", err);
    const size_t n_left = (size_t)(space - text.data), n_right = text.n_bytes - n_left - 1;
    const int32_t left = sumi_vocabulary_find(v, text.data, n_left);
    const int32_t right = sumi_vocabulary_find(v, space + 1, n_right);
    if (left < 0 || right < 0)
        return strict ? refuse_merge(g, rank, text, left < 0 ? "LEFT is not a token" : "RIGHT is not a token", err)
                      : SUMI_OK;
    memcpy(joined, text.data, n_left);
    memcpy(joined + n_left, space + 1, n_right);
    const int32_t result = sumi_vocabulary_find(v, joined, n_left + n_right);
    if (result < 0) return refuse_merge(g, rank, text, "the joined text is not a token", err);
    if (v->types[result] == SUMI_TOKEN_CONTROL) return SUMI_OK;
    sumi_merge *slot = find_slot(m, left, right);
    if (slot->left < 0) *slot = (sumi_merge){ left, right, rank, result };
    return SUMI_OK;
}

static sumi_status find_merges(const sumi_gguf *g, const sumi_gguf_key **key, sumi_error *err)
{
    const char *name = "tokenizer.ggml.merges";
    const sumi_gguf_key *k = sumi_gguf_find_key(g, name);
    if (!k) return sumi_fail(err, SUMI_EFORMAT, "%s: %s: missing", sumi_gguf_path(g), name);
    if (k->type != SUMI_GGUF_ARRAY || k->element_type != SUMI_GGUF_STRING)
        return sumi_fail(err, SUMI_EFORMAT, "%s: %s: not an array of strings", sumi_gguf_path(g), name);
    if (k->n > SUMI_MAX_VOCAB)
        return sumi_fail(err, SUMI_EFORMAT, "%s: %s: %llu merges, more than %d", sumi_gguf_path(g), name,
                         (unsigned long long)k->n, SUMI_MAX_VOCAB);
    *key = k;
    return SUMI_OK;
}

sumi_status sumi_merges_init(sumi_merges *m, const sumi_vocabulary *v, const sumi_gguf *g, sumi_error *err)
{
    const sumi_gguf_key *key = NULL;
    sumi_status st = find_merges(g, &key, err);
    if (st) return st;
    m->n_slots = 16;
    while (m->n_slots < 2 * key->n) m->n_slots *= 2;
    m->slots = malloc(m->n_slots * sizeof *m->slots);
    char *joined = malloc(key->n_bytes + 1);
    if (!m->slots || !joined) {
        free(joined);
        return sumi_fail(err, SUMI_ENOMEM, "%llu merges", (unsigned long long)key->n);
    }
    memset(m->slots, 0xff, m->n_slots * sizeof *m->slots);
    const bool strict = has_all_bytes(v);
    const uint8_t *cursor = key->data;
    for (uint64_t i = 0; i < key->n && !st; i++)
        st = add_merge(m, v, g, (int32_t)i, sumi_gguf_next_string(&cursor), strict, joined, err);
    free(joined);
    return st;
}

void sumi_merges_deinit(sumi_merges *m)
{
    free(m->slots);
    *m = (sumi_merges){ 0 };
}

/* ---- Heap of 64-bit keys, smallest first ----------------------------------------------------------------- */

static void sift_down(uint64_t *heap, int64_t n, int64_t i)
{
    const uint64_t key = heap[i];
    for (int64_t child = 2 * i + 1; child < n; child = 2 * i + 1) {
        if (child + 1 < n && heap[child + 1] < heap[child]) child++;
        if (key <= heap[child]) break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = key;
}

static void heap_push(uint64_t *heap, int64_t *n, uint64_t key)
{
    int64_t i = (*n)++;
    for (; i > 0 && key < heap[(i - 1) / 2]; i = (i - 1) / 2) heap[i] = heap[(i - 1) / 2];
    heap[i] = key;
}

static uint64_t heap_pop(uint64_t *heap, int64_t *n)
{
    const uint64_t key = heap[0];
    heap[0] = heap[--*n];
    if (*n > 0) sift_down(heap, *n, 0);
    return key;
}

/* ---- Merging --------------------------------------------------------------------------------------------- */

enum { NONE = -1 };

typedef struct sumi_bpe_symbol {
    int32_t id;
    int32_t previous, next; /* positions, NONE at the ends */
    int32_t rank, result;   /* of joining this symbol with the next; rank NONE: not possible */
} symbol;

static void rate_pair(const sumi_merges *m, symbol *symbols, int32_t i)
{
    symbol *s = &symbols[i];
    s->rank = NONE;
    if (s->next == NONE) return;
    const sumi_merge *merge = find_slot(m, s->id, symbols[s->next].id);
    if (merge->left < 0) return;
    s->rank = merge->rank;
    s->result = merge->result;
}

static uint64_t heap_key(const symbol *symbols, int32_t i) { return (uint64_t)symbols[i].rank << 32 | (uint32_t)i; }

static sumi_status reserve(sumi_bpe_scratch *scratch, int32_t n, sumi_error *err)
{
    if (n <= scratch->capacity) return SUMI_OK;
    const int32_t capacity = n < INT32_MAX / 2 ? 2 * n : n;
    sumi_bpe_scratch_deinit(scratch);
    scratch->symbols = malloc((size_t)capacity * sizeof *scratch->symbols);
    scratch->heap = malloc(2 * (size_t)capacity * sizeof *scratch->heap);
    if (!scratch->symbols || !scratch->heap)
        return sumi_fail(err, SUMI_ENOMEM, "tokenizer: a pre-token of %d bytes", n);
    scratch->capacity = capacity;
    return SUMI_OK;
}

void sumi_bpe_scratch_deinit(sumi_bpe_scratch *scratch)
{
    free(scratch->symbols);
    free(scratch->heap);
    *scratch = (sumi_bpe_scratch){ 0 };
}

static sumi_status start_symbols(const sumi_merges *m, const sumi_vocabulary *v, const char *text, int32_t n_bytes,
                                 symbol *symbols, sumi_error *err)
{
    for (int32_t i = 0; i < n_bytes; i++) {
        const uint8_t byte = (uint8_t)text[i];
        if (v->byte_ids[byte] < 0)
            return sumi_fail(err, SUMI_EINVAL, "text has byte 0x%02x, for which the vocabulary has no token", byte);
        symbols[i].id = v->byte_ids[byte];
        symbols[i].previous = i - 1;
        symbols[i].next = i + 1 < n_bytes ? i + 1 : NONE;
    }
    for (int32_t i = 0; i < n_bytes; i++) rate_pair(m, symbols, i);
    return SUMI_OK;
}

/* Join symbol i with its right neighbour, which leaves the list. */
static void join(symbol *symbols, int32_t i)
{
    symbol *s = &symbols[i], *gone = &symbols[s->next];
    s->id = s->result;
    s->next = gone->next;
    if (s->next != NONE) symbols[s->next].previous = i;
    gone->rank = NONE; /* entries of the heap that still name it are stale */
}

static void merge_all(const sumi_merges *m, symbol *symbols, int32_t n, uint64_t *heap)
{
    int64_t n_heap = 0; /* at most n - 1 at first, and each join takes one entry out and puts two in: below 2 n */
    for (int32_t i = 0; i < n; i++)
        if (symbols[i].rank != NONE) heap[n_heap++] = heap_key(symbols, i);
    for (int64_t i = n_heap / 2 - 1; i >= 0; i--) sift_down(heap, n_heap, i);

    while (n_heap > 0) {
        const uint64_t key = heap_pop(heap, &n_heap);
        const int32_t i = (int32_t)(uint32_t)key;
        if (symbols[i].rank != (int32_t)(key >> 32)) continue; /* the pair changed; a rank names one pair */
        join(symbols, i);
        rate_pair(m, symbols, i);
        if (symbols[i].rank != NONE) heap_push(heap, &n_heap, heap_key(symbols, i));
        const int32_t before = symbols[i].previous;
        if (before == NONE) continue;
        rate_pair(m, symbols, before);
        if (symbols[before].rank != NONE) heap_push(heap, &n_heap, heap_key(symbols, before));
    }
}

sumi_status sumi_bpe_encode(const sumi_merges *m, const sumi_vocabulary *v, sumi_bpe_scratch *scratch,
                            const char *text, int32_t n_bytes, sumi_ids *ids, sumi_error *err)
{
    if (n_bytes < 1) return SUMI_OK;
    sumi_status st = reserve(scratch, n_bytes, err);
    if (!st) st = start_symbols(m, v, text, n_bytes, scratch->symbols, err);
    if (!st) st = sumi_ids_reserve(ids, n_bytes, err);
    if (st) return st;
    merge_all(m, scratch->symbols, n_bytes, scratch->heap);
    for (int32_t i = 0; i != NONE; i = scratch->symbols[i].next) ids->data[ids->n++] = scratch->symbols[i].id;
    return SUMI_OK;
}
