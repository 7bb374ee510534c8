/* A growing list of token ids. */
#ifndef SUMI_TEXT_IDS_H
#define SUMI_TEXT_IDS_H

#include <stdlib.h>

#include "base/status.h"

typedef struct sumi_ids {
    int32_t *data; /* owned; NULL while capacity is 0 */
    int64_t n, capacity;
} sumi_ids;

/* Room for n_more ids beyond the present ones. Errors: SUMI_ENOMEM, the list is unchanged. */
static inline sumi_status sumi_ids_reserve(sumi_ids *ids, int64_t n_more, sumi_error *err)
{
    if (ids->data && n_more <= ids->capacity - ids->n) return SUMI_OK;
    int64_t capacity = ids->capacity + ids->capacity / 2 + 16;
    if (capacity < ids->n + n_more) capacity = ids->n + n_more;
    int32_t *data = realloc(ids->data, (size_t)capacity * sizeof *data);
    if (!data) return sumi_fail(err, SUMI_ENOMEM, "token ids: %lld bytes", (long long)capacity * 4);
    ids->data = data;
    ids->capacity = capacity;
    return SUMI_OK;
}

static inline sumi_status sumi_ids_push(sumi_ids *ids, int32_t id, sumi_error *err)
{
    const sumi_status st = sumi_ids_reserve(ids, 1, err);
    if (!st) ids->data[ids->n++] = id;
    return st;
}

#endif
