/* Counts the bytes a test's process has allocated, and can make the n-th allocation fail. Include in one file.
 * With the address sanitizer the count comes from its hooks and nothing can be made to fail; meter_can_fail tells. */
#ifndef SUMI_TESTS_ALLOC_METER_H
#define SUMI_TESTS_ALLOC_METER_H

#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static size_t meter_now, meter_peak;
static int64_t meter_fail_after = -1; /* allocations that still succeed; -1: all do */

static inline void meter_add(size_t n)
{
    meter_now += n;
    if (meter_now > meter_peak) meter_peak = meter_now;
}
static inline void meter_start(void) { meter_peak = meter_now; }
static inline size_t meter_peak_since(size_t before) { return meter_peak > before ? meter_peak - before : 0; }

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define METER_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define METER_SANITIZED 1
#endif

#ifdef METER_SANITIZED
/* From compiler-rt's sanitizer/allocator_interface.h, which not every compiler installs. */
int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void *, size_t),
                                              void (*on_free)(const volatile void *));
size_t __sanitizer_get_allocated_size(const volatile void *p);

static inline bool meter_can_fail(void) { return false; }

static void meter_on_malloc(const volatile void *p, size_t n)
{
    (void)p;
    meter_add(n);
}
static void meter_on_free(const volatile void *p)
{
    if (p) meter_now -= __sanitizer_get_allocated_size(p);
}
__attribute__((constructor)) static void meter_install(void)
{
    __sanitizer_install_malloc_and_free_hooks(meter_on_malloc, meter_on_free);
}
#else
/* glibc lets a program replace the allocator and still reach its own. */
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t alignment, size_t n);
void __libc_free(void *p);

static bool meter_refuses(void)
{
    if (meter_fail_after < 0) return false;
    if (meter_fail_after-- > 0) return false;
    meter_fail_after = 0;
    errno = ENOMEM;
    return true;
}
static void *meter_count(void *p)
{
    if (p) meter_add(malloc_usable_size(p));
    return p;
}
/* Visible, so that the C library's own allocations (strdup) come here too and match the frees. */
#pragma GCC visibility push(default)
void *malloc(size_t n) { return meter_refuses() ? NULL : meter_count(__libc_malloc(n)); }
void *calloc(size_t n, size_t size) { return meter_refuses() ? NULL : meter_count(__libc_calloc(n, size)); }
void *aligned_alloc(size_t alignment, size_t n);
void *aligned_alloc(size_t alignment, size_t n)
{
    return meter_refuses() ? NULL : meter_count(__libc_memalign(alignment, n));
}
void *realloc(void *p, size_t n)
{
    if (meter_refuses()) return NULL;
    const size_t before = p ? malloc_usable_size(p) : 0;
    void *grown = __libc_realloc(p, n);
    if (grown) meter_now -= before;
    return meter_count(grown);
}
void free(void *p)
{
    if (p) meter_now -= malloc_usable_size(p);
    __libc_free(p);
}
#pragma GCC visibility pop

/* Not under valgrind, which puts its own allocator in front of these. */
static inline bool meter_can_fail(void)
{
    void *(*volatile allocate)(size_t) = malloc; /* volatile: a call that the compiler may not drop */
    meter_fail_after = 0;
    void *p = allocate(1);
    meter_fail_after = -1;
    free(p);
    return p == NULL;
}
#endif

#endif
