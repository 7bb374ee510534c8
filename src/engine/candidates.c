/* Selection with binary heaps in place: neither step sorts more of a large vocabulary than it keeps. */
#include "engine/candidates.h"

#include <assert.h>
#include <stdlib.h>

#include "kernels/exp.h"

sumi_status sumi_candidates_init(sumi_candidates *c, int32_t capacity, sumi_error *err)
{
    *c = (sumi_candidates){ .capacity = capacity };
    c->storage = calloc((size_t)capacity, sizeof *c->storage);
    if (!c->storage) return sumi_fail(err, SUMI_ENOMEM, "sampler: room for %d candidate tokens", capacity);
    c->items = c->storage;
    return SUMI_OK;
}

void sumi_candidates_deinit(sumi_candidates *c)
{
    free(c->storage);
    *c = (sumi_candidates){ 0 };
}

/* ---- Heaps ------------------------------------------------------------------------------------------- */

typedef bool is_above_fn(const sumi_candidate *a, const sumi_candidate *b);

static bool is_better(const sumi_candidate *a, const sumi_candidate *b)
{
    return a->logit > b->logit || (a->logit == b->logit && a->id < b->id);
}

static bool is_worse(const sumi_candidate *a, const sumi_candidate *b) { return is_better(b, a); }

static void sift_down(sumi_candidate *heap, int32_t n, int32_t i, is_above_fn *is_above)
{
    const sumi_candidate moving = heap[i];
    while (i < n / 2) { /* it has children */
        int32_t child = 2 * i + 1;
        if (child + 1 < n && is_above(&heap[child + 1], &heap[child])) child++;
        if (!is_above(&heap[child], &moving)) break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = moving;
}

static void make_heap(sumi_candidate *items, int32_t n, is_above_fn *is_above)
{
    for (int32_t i = n / 2 - 1; i >= 0; i--) sift_down(items, n, i, is_above);
}

/* ---- Steps ------------------------------------------------------------------------------------------- */

static void find_best(sumi_candidates *c)
{
    c->best = c->items[0];
    for (int32_t i = 1; i < c->n; i++)
        if (is_better(&c->items[i], &c->best)) c->best = c->items[i];
}

void sumi_candidates_select(sumi_candidates *c, const float *logits, int32_t vocab)
{
    sumi_candidate *const items = c->items = c->storage;
    int32_t id = 0, n = 0;
    for (; id < vocab && n < c->capacity; id++)
        if (logits[id] > -INFINITY) items[n++] = (sumi_candidate){ .id = id, .logit = logits[id] };
    if (id < vocab) {
        /* Full. Ids only grow from here, so an equal logit comes later in the order and replaces nothing. */
        make_heap(items, n, is_worse);
        for (; id < vocab; id++) {
            if (!(logits[id] > items[0].logit)) continue;
            items[0] = (sumi_candidate){ .id = id, .logit = logits[id] };
            sift_down(items, n, 0, is_worse);
        }
    }
    c->n = n;
    if (n > 0) find_best(c);
}

void sumi_candidates_weigh(sumi_candidates *c, float temperature)
{
    for (int32_t i = 0; i < c->n; i++)
        c->items[i].weight = sumi_expf((c->items[i].logit - c->best.logit) / temperature);
}

/* Heapsort that stops early: the best so far gather, best last, at the end of the array. */
void sumi_candidates_keep_top_p(sumi_candidates *c, float top_p)
{
    double total = 0, kept = 0;
    for (int32_t i = 0; i < c->n; i++) total += (double)c->items[i].weight;

    make_heap(c->items, c->n, is_better);
    int32_t n_heap = c->n;
    do {
        const sumi_candidate best = c->items[0];
        c->items[0] = c->items[--n_heap];
        c->items[n_heap] = best;
        sift_down(c->items, n_heap, 0, is_better);
        kept += (double)best.weight;
    } while (n_heap > 0 && kept < (double)top_p * total);
    c->items += n_heap;
    c->n -= n_heap;
}

void sumi_candidates_keep_min_p(sumi_candidates *c, float min_p)
{
    int32_t n = 0;
    for (int32_t i = 0; i < c->n; i++)
        if (c->items[i].weight >= min_p) c->items[n++] = c->items[i];
    c->n = n;
}

int32_t sumi_candidates_draw(const sumi_candidates *c, double position)
{
    assert(position >= 0 && position < 1);
    double total = 0;
    for (int32_t i = 0; i < c->n; i++) total += (double)c->items[i].weight;

    /* For any position below 1 the rounded product is below the total, so this same sum passes it before the items
     * end, and at an item whose weight is not 0. */
    const double target = position * total;
    int32_t i = 0;
    double passed = (double)c->items[0].weight;
    while (passed <= target) passed += (double)c->items[++i].weight;
    return c->items[i].id;
}
