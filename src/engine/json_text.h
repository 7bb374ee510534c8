/* A growing NUL-terminated UTF-8 text, and values written to it as JSON (RFC 8259). */
#ifndef SUMI_ENGINE_JSON_TEXT_H
#define SUMI_ENGINE_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-initialise. The functions below append; after a failed allocation they do nothing, so that only the end
 * needs a test of out_of_memory. Appending costs amortised constant time a byte. */
typedef struct sumi_text {
    char *data; /* owned, release with free; NULL until something is appended */
    size_t n_bytes, capacity;
    bool out_of_memory;
} sumi_text;

void sumi_text_put(sumi_text *t, const char *bytes, size_t n_bytes);
void sumi_text_puts(sumi_text *t, const char *text);

/* Any bytes as UTF-8: what is not well-formed becomes U+FFFD, one for each maximal subpart (text/utf8.h). */
void sumi_text_put_utf8(sumi_text *t, const char *bytes, size_t n_bytes);

/* Any bytes as a JSON string, invalid UTF-8 as above. Control characters, DEL among them, are escaped. */
void sumi_text_put_json_string(sumi_text *t, const char *bytes, size_t n_bytes);

void sumi_text_put_json_int(sumi_text *t, int64_t value);
void sumi_text_put_json_uint(sumi_text *t, uint64_t value);

/* A number that reads back as the same float or double and looks like one, "10000.0" or "1e-06"; null when it is not
 * finite, since JSON has no name for that. */
void sumi_text_put_json_float(sumi_text *t, float value);
void sumi_text_put_json_double(sumi_text *t, double value);

#endif
