/* Feature bits of x86: cpuid for the instructions, xgetbv for the registers the operating system saves.
 * Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, sections 14.3 and 15.2. */
#include "base/cpu.h"

#if defined(__x86_64__) || defined(__i386__)

#include <cpuid.h>
#include <stdbool.h>

enum {
    XCR0_AVX = 0x06,   /* xmm and ymm */
    XCR0_AVX512 = 0xe6 /* those, opmask, the upper halves of zmm0-15, and zmm16-31 */
};

static bool has_all(uint32_t flags, uint32_t wanted) { return (flags & wanted) == wanted; }

static uint32_t read_xcr0(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

uint32_t sumi_cpu_features(void)
{
    uint32_t a, b, c, d, features = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
    if (!has_all(c, bit_OSXSAVE | bit_AVX | bit_FMA | bit_F16C)) return 0; /* xgetbv faults without OSXSAVE */
    const uint32_t xcr0 = read_xcr0();
    if (!has_all(xcr0, XCR0_AVX)) return 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & bit_AVX2)) return 0;
    features |= SUMI_CPU_AVX2;
    if (has_all(xcr0, XCR0_AVX512) && has_all(b, bit_AVX512F | bit_AVX512BW | bit_AVX512VL | bit_AVX512DQ) &&
        has_all(c, bit_AVX512VNNI))
        features |= SUMI_CPU_AVX512;
    return features;
}

#endif
