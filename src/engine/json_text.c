#include "engine/json_text.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/utf8.h"

/* ---- Bytes ------------------------------------------------------------------------------------------ */

/* Room for n_more bytes and the terminator. */
static bool reserve(sumi_text *t, size_t n_more)
{
    if (t->out_of_memory) return false;
    if (n_more < t->capacity - t->n_bytes) return true;
    size_t capacity = t->capacity + t->capacity / 2 + 64;
    if (capacity - t->n_bytes <= n_more) capacity = t->n_bytes + n_more + 1;
    char *data = capacity > t->n_bytes ? realloc(t->data, capacity) : NULL; /* not greater: it wrapped around */
    if (!data) {
        t->out_of_memory = true;
        return false;
    }
    t->data = data;
    t->capacity = capacity;
    return true;
}

void sumi_text_put(sumi_text *t, const char *bytes, size_t n_bytes)
{
    if (!reserve(t, n_bytes)) return;
    if (n_bytes > 0) memcpy(t->data + t->n_bytes, bytes, n_bytes);
    t->n_bytes += n_bytes;
    t->data[t->n_bytes] = 0;
}

void sumi_text_puts(sumi_text *t, const char *text) { sumi_text_put(t, text, strlen(text)); }

/* ---- Strings ---------------------------------------------------------------------------------------- */

/* Bytes from the start of p that are whole characters and, where `escaping`, need no escape in JSON. */
static size_t clean_prefix(const uint8_t *p, size_t n, bool escaping)
{
    size_t at = 0;
    while (at < n) {
        if (p[at] < 0x80) {
            if (escaping && (p[at] < 0x20 || p[at] == '"' || p[at] == '\\' || p[at] == 0x7f)) break;
            at++;
            continue;
        }
        int32_t n_char;
        if (sumi_utf8_scan(p + at, n - at, &n_char) != SUMI_UTF8_CHARACTER) break;
        at += (size_t)n_char;
    }
    return at;
}

static void put_escaped(sumi_text *t, uint8_t c)
{
    char escape[8];
    switch (c) {
    case '"':
    case '\\':
        snprintf(escape, sizeof escape, "\\%c", c);
        break;
    case '\n':
        snprintf(escape, sizeof escape, "\\n");
        break;
    case '\r':
        snprintf(escape, sizeof escape, "\\r");
        break;
    case '\t':
        snprintf(escape, sizeof escape, "\\t");
        break;
    default:
        snprintf(escape, sizeof escape, "\\u%04x", c);
        break;
    }
    sumi_text_puts(t, escape);
}

static void put_characters(sumi_text *t, const char *bytes, size_t n_bytes, bool escaping)
{
    const uint8_t *p = (const uint8_t *)bytes;
    for (size_t at = 0; at < n_bytes;) {
        const size_t n_clean = clean_prefix(p + at, n_bytes - at, escaping);
        sumi_text_put(t, bytes + at, n_clean);
        at += n_clean;
        if (at == n_bytes) break;
        if (p[at] < 0x80) {
            put_escaped(t, p[at++]);
            continue;
        }
        int32_t n_invalid;
        sumi_utf8_scan(p + at, n_bytes - at, &n_invalid);
        sumi_text_puts(t, "\xef\xbf\xbd");
        at += (size_t)n_invalid;
    }
}

void sumi_text_put_utf8(sumi_text *t, const char *bytes, size_t n_bytes) { put_characters(t, bytes, n_bytes, false); }

void sumi_text_put_json_string(sumi_text *t, const char *bytes, size_t n_bytes)
{
    sumi_text_put(t, "\"", 1);
    put_characters(t, bytes, n_bytes, true);
    sumi_text_put(t, "\"", 1);
}

/* ---- Numbers ---------------------------------------------------------------------------------------- */

void sumi_text_put_json_int(sumi_text *t, int64_t value)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%" PRId64, value);
    sumi_text_puts(t, digits);
}

void sumi_text_put_json_uint(sumi_text *t, uint64_t value)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%" PRIu64, value);
    sumi_text_puts(t, digits);
}

/* Append what printf wrote with the locale's decimal point, which may be several bytes. */
static void put_decimal(sumi_text *t, const char *digits)
{
    if (!digits[strspn(digits, "-0123456789")]) {
        sumi_text_puts(t, digits);
        sumi_text_puts(t, ".0");
        return;
    }
    static const char plain[] = "+-0123456789e";
    const size_t n_whole = strspn(digits, plain), n_point = strcspn(digits + n_whole, plain);
    sumi_text_put(t, digits, n_whole);
    if (n_point > 0) sumi_text_puts(t, ".");
    sumi_text_puts(t, digits + n_whole + n_point);
}

/* Few digits where they are enough: 6 for a float, 15 for a double always survive, 9 and 17 always suffice. */
void sumi_text_put_json_float(sumi_text *t, float value)
{
    if (!isfinite(value)) {
        sumi_text_puts(t, "null");
        return;
    }
    char digits[64];
    for (int precision = FLT_DIG; precision <= FLT_DECIMAL_DIG; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, (double)value);
        if (strtof(digits, NULL) == value) break;
    }
    put_decimal(t, digits);
}

void sumi_text_put_json_double(sumi_text *t, double value)
{
    if (!isfinite(value)) {
        sumi_text_puts(t, "null");
        return;
    }
    char digits[64];
    for (int precision = DBL_DIG; precision <= DBL_DECIMAL_DIG; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtod(digits, NULL) == value) break;
    }
    put_decimal(t, digits);
}
