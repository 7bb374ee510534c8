/* Size arithmetic that refuses to wrap. Each returns false, leaving *out alone, when the result does not fit. */
#ifndef SUMI_BASE_CHECKED_H
#define SUMI_BASE_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

static inline bool sumi_mul_u64(uint64_t a, uint64_t b, uint64_t *out)
{
    uint64_t r;
    if (__builtin_mul_overflow(a, b, &r)) return false;
    *out = r;
    return true;
}

static inline bool sumi_add_u64(uint64_t a, uint64_t b, uint64_t *out)
{
    uint64_t r;
    if (__builtin_add_overflow(a, b, &r)) return false;
    *out = r;
    return true;
}

/* Round up to a multiple of `alignment`, a power of two. */
static inline bool sumi_align_u64(uint64_t a, uint64_t alignment, uint64_t *out)
{
    uint64_t r;
    if (!sumi_add_u64(a, alignment - 1, &r)) return false;
    *out = r & ~(alignment - 1);
    return true;
}

#endif
