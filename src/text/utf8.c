/* UTF-8: one decoding step, and the stream that turns pieces of bytes into whole characters. */
#include "text/utf8.h"

#include <string.h>

#include "text/tokenizer.h"

/* Total length by lead byte and the range of the second byte (Unicode standard, table 3-7). 0: no lead byte. */
static int32_t sequence_length(uint8_t lead, uint8_t *second_min, uint8_t *second_max)
{
    *second_min = 0x80;
    *second_max = 0xbf;
    if (lead < 0x80) return 1;
    if (lead < 0xc2) return 0; /* a continuation, or an overlong form of ASCII */
    if (lead < 0xe0) return 2;
    if (lead < 0xf0) {
        if (lead == 0xe0) *second_min = 0xa0; /* below: overlong */
        if (lead == 0xed) *second_max = 0x9f; /* above: surrogates */
        return 3;
    }
    if (lead == 0xf0) *second_min = 0x90; /* below: overlong */
    if (lead == 0xf4) *second_max = 0x8f; /* above: beyond U+10FFFF */
    return lead < 0xf5 ? 4 : 0;
}

sumi_utf8_kind sumi_utf8_scan(const uint8_t *p, size_t n, int32_t *n_bytes)
{
    uint8_t min, max;
    const int32_t length = sequence_length(p[0], &min, &max);
    *n_bytes = 1;
    if (length == 0) return SUMI_UTF8_INVALID;
    for (int32_t i = 1; i < length; i++) {
        *n_bytes = i;
        if ((size_t)i == n) return SUMI_UTF8_UNFINISHED;
        if (p[i] < min || p[i] > max) return SUMI_UTF8_INVALID;
        min = 0x80;
        max = 0xbf;
    }
    *n_bytes = length;
    return SUMI_UTF8_CHARACTER;
}

static size_t put_replacement(char *dst)
{
    dst[0] = (char)0xef; /* U+FFFD */
    dst[1] = (char)0xbf;
    dst[2] = (char)0xbd;
    return 3;
}

/* Move everything decided out of the pending bytes; what stays is the beginning of a character. */
static size_t drain(sumi_utf8_stream *s, char *dst)
{
    size_t n_out = 0;
    while (s->n_pending > 0) {
        int32_t n_bytes;
        const sumi_utf8_kind kind = sumi_utf8_scan(s->pending, (size_t)s->n_pending, &n_bytes);
        if (kind == SUMI_UTF8_UNFINISHED) break;
        if (kind == SUMI_UTF8_CHARACTER) {
            memcpy(dst + n_out, s->pending, (size_t)n_bytes);
            n_out += (size_t)n_bytes;
        } else {
            n_out += put_replacement(dst + n_out);
        }
        s->n_pending -= n_bytes;
        memmove(s->pending, s->pending + n_bytes, (size_t)s->n_pending);
    }
    return n_out;
}

size_t sumi_utf8_push(sumi_utf8_stream *s, const uint8_t *bytes, size_t n, bool flush, char *dst)
{
    size_t n_out = 0;
    for (size_t i = 0; i < n; i++) {
        s->pending[s->n_pending++] = bytes[i];
        n_out += drain(s, dst + n_out);
    }
    if (flush && s->n_pending > 0) {
        n_out += put_replacement(dst + n_out);
        s->n_pending = 0;
    }
    return n_out;
}
