/* Stop strings in a stream: text is let through as soon as it cannot become part of one. Private to the engine. */
#ifndef SUMI_ENGINE_STOP_H
#define SUMI_ENGINE_STOP_H

#include "base/status.h"

typedef struct sumi_stop {
    const char *const *strings; /* borrowed */
    int32_t n_strings;
    size_t max_bytes; /* of the longest */
    char *held;       /* text that may yet become a stop string */
    size_t n_held, max_held;
} sumi_stop;

/* Errors: SUMI_EINVAL (an empty or NULL string), SUMI_ENOMEM. max_push_bytes: of one later push. */
sumi_status sumi_stop_init(sumi_stop *stop, const char *const *strings, int32_t n_strings, size_t max_push_bytes,
                           sumi_error *err);
void sumi_stop_deinit(sumi_stop *stop);

/* Add text. *n_ready bytes at the start of stop->held may be shown; take them with sumi_stop_take before the
 * next push. Returns true when a stop string was found: what is ready ends before it, and nothing may follow. */
bool sumi_stop_push(sumi_stop *stop, const char *text, size_t n_bytes, size_t *n_ready);
void sumi_stop_take(sumi_stop *stop, size_t n_bytes);

#endif
