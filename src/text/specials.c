/* Special tokens: a sorted list searched like a trie, so no node has to be stored. */
#include "text/specials.h"

#include <stdlib.h>
#include <string.h>

static bool is_special(const sumi_vocabulary *v, int32_t id)
{
    return (v->types[id] == SUMI_TOKEN_CONTROL || v->types[id] == SUMI_TOKEN_USER_DEFINED) &&
           v->texts[id].n_bytes > 0;
}

static int compare_ids(const void *a, const void *b, void *texts)
{
    const int32_t id_a = *(const int32_t *)a, id_b = *(const int32_t *)b;
    const sumi_str x = ((const sumi_str *)texts)[id_a], y = ((const sumi_str *)texts)[id_b];
    const int order = memcmp(x.data, y.data, x.n_bytes < y.n_bytes ? x.n_bytes : y.n_bytes);
    if (order) return order;
    if (x.n_bytes != y.n_bytes) return x.n_bytes < y.n_bytes ? -1 : 1;
    return id_a < id_b ? -1 : id_a > id_b;
}

sumi_status sumi_specials_init(sumi_specials *s, const sumi_vocabulary *v, sumi_error *err)
{
    int32_t n = 0;
    for (int32_t id = 0; id < v->n_tokens; id++) n += is_special(v, id);
    s->vocabulary = v;
    s->ids = malloc((size_t)(n + 1) * sizeof *s->ids);
    if (!s->ids) return sumi_fail(err, SUMI_ENOMEM, "%d special tokens", n);

    int32_t counts[256] = { 0 };
    n = 0;
    for (int32_t id = 0; id < v->n_tokens; id++) {
        if (!is_special(v, id)) continue;
        counts[(uint8_t)v->texts[id].data[0]]++;
        s->ids[n++] = id;
    }
    qsort_r(s->ids, (size_t)n, sizeof *s->ids, compare_ids, v->texts);
    for (int b = 0; b < 256; b++) s->first_by_byte[b + 1] = s->first_by_byte[b] + counts[b];
    return SUMI_OK;
}

void sumi_specials_deinit(sumi_specials *s)
{
    free(s->ids);
    *s = (sumi_specials){ 0 };
}

/* First index in [begin, end) whose text has a byte >= `byte` at `depth`; all texts there are longer than depth. */
static int32_t lower_bound(const sumi_specials *s, int32_t begin, int32_t end, size_t depth, int byte)
{
    while (begin < end) {
        const int32_t middle = begin + (end - begin) / 2;
        if ((uint8_t)s->vocabulary->texts[s->ids[middle]].data[depth] < byte)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

/* The longest special token that text begins with, or -1. */
static int32_t longest_match(const sumi_specials *s, const char *text, size_t n_bytes, bool control)
{
    const sumi_vocabulary *v = s->vocabulary;
    int32_t begin = s->first_by_byte[(uint8_t)text[0]], end = s->first_by_byte[(uint8_t)text[0] + 1], best = -1;
    for (size_t depth = 1; begin < end; depth++) {
        /* [begin, end) agrees with the text in `depth` bytes; those that end here sort first. */
        while (begin < end && v->texts[s->ids[begin]].n_bytes == depth) {
            const int32_t id = s->ids[begin++];
            const bool is_duplicate = best >= 0 && v->texts[best].n_bytes == depth;
            if (!is_duplicate && (control || v->types[id] == SUMI_TOKEN_USER_DEFINED)) best = id;
        }
        if (depth == n_bytes) break;
        begin = lower_bound(s, begin, end, depth, (uint8_t)text[depth]);
        end = lower_bound(s, begin, end, depth, (uint8_t)text[depth] + 1);
    }
    return best;
}

int32_t sumi_specials_next(const sumi_specials *s, const char *text, size_t n_bytes, size_t from, bool control,
                           size_t *at)
{
    for (size_t i = from; i < n_bytes; i++) {
        const uint8_t first = (uint8_t)text[i];
        if (s->first_by_byte[first] == s->first_by_byte[first + 1]) continue;
        const int32_t id = longest_match(s, text + i, n_bytes - i, control);
        if (id < 0) continue;
        *at = i;
        return id;
    }
    return -1;
}
