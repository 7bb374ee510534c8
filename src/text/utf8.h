/* One step of UTF-8 decoding, shared by the stream and the pre-tokenizer. */
#ifndef SUMI_TEXT_UTF8_H
#define SUMI_TEXT_UTF8_H

#include <stddef.h>
#include <stdint.h>

typedef enum sumi_utf8_kind {
    SUMI_UTF8_CHARACTER,  /* a whole, well-formed character */
    SUMI_UTF8_UNFINISHED, /* all n bytes begin a character that needs more */
    SUMI_UTF8_INVALID     /* bytes that no continuation can make well-formed */
} sumi_utf8_kind;

/* What stands at the start of n >= 1 bytes; *n_bytes: its length, 1 to 4. An invalid sequence has the length of its
 * maximal subpart, as the Unicode standard (section 3.9, "U+FFFD Substitution of Maximal Subparts") recommends:
 * overlong forms, surrogates and values above U+10FFFF end at the byte that rules them out. */
sumi_utf8_kind sumi_utf8_scan(const uint8_t *p, size_t n, int32_t *n_bytes);

#endif
