#include "engine/stop.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

sumi_status sumi_stop_init(sumi_stop *stop, const char *const *strings, int32_t n_strings, size_t max_push_bytes,
                           sumi_error *err)
{
    *stop = (sumi_stop){ .strings = strings, .n_strings = n_strings };
    if (n_strings < 0 || (n_strings > 0 && !strings))
        return sumi_fail(err, SUMI_EINVAL, "stop: %" PRId32 " strings", n_strings);
    for (int32_t i = 0; i < n_strings; i++) {
        if (!strings[i] || !strings[i][0]) return sumi_fail(err, SUMI_EINVAL, "stop: string %" PRId32 " is empty", i);
        const size_t n = strlen(strings[i]);
        if (n > stop->max_bytes) stop->max_bytes = n;
    }
    stop->max_held = stop->max_bytes + max_push_bytes;
    stop->held = malloc(stop->max_held + 1);
    return stop->held ? SUMI_OK : sumi_fail(err, SUMI_ENOMEM, "stop: %zu bytes", stop->max_held);
}

void sumi_stop_deinit(sumi_stop *stop)
{
    free(stop->held);
    *stop = (sumi_stop){ 0 };
}

static bool starts_with(const char *text, size_t n_text, const char *prefix, size_t n_prefix)
{
    return n_text >= n_prefix && memcmp(text, prefix, n_prefix) == 0;
}

/* Could the held text from `at` on be, or grow into, a stop string? *is_whole: it already holds one. */
static bool may_stop_at(const sumi_stop *stop, size_t at, bool *is_whole)
{
    const char *tail = stop->held + at;
    const size_t n_tail = stop->n_held - at;
    bool may = false;
    for (int32_t i = 0; i < stop->n_strings; i++) {
        const size_t n = strlen(stop->strings[i]);
        if (starts_with(tail, n_tail, stop->strings[i], n)) {
            *is_whole = true;
            return true;
        }
        may = may || starts_with(stop->strings[i], n, tail, n_tail);
    }
    return may;
}

bool sumi_stop_push(sumi_stop *stop, const char *text, size_t n_bytes, size_t *n_ready)
{
    memcpy(stop->held + stop->n_held, text, n_bytes);
    stop->n_held += n_bytes;
    *n_ready = stop->n_held;
    bool is_open = false; /* a place before this one may yet become a stop string */
    for (size_t at = 0; at < stop->n_held; at++) {
        bool is_whole = false;
        if (!may_stop_at(stop, at, &is_whole)) continue;
        if (!is_open) *n_ready = at;
        is_open = true;
        if (is_whole) { /* found; an open place before it can no longer matter: the text ends here */
            *n_ready = at;
            return true;
        }
    }
    return false;
}

void sumi_stop_take(sumi_stop *stop, size_t n_bytes)
{
    stop->n_held -= n_bytes;
    memmove(stop->held, stop->held + n_bytes, stop->n_held);
}
