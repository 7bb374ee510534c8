/* Feature bits of AArch64. */
#include "base/cpu.h"

#if defined(__aarch64__)

#if defined(__linux__)

#include <sys/auxv.h>

#ifndef HWCAP_ASIMDDP
#define HWCAP_ASIMDDP (1ul << 20) /* since Linux 4.15 */
#endif

static uint32_t dot_product(void) { return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) ? SUMI_CPU_DOTPROD : 0; }

#else

/* Elsewhere what the compiler may assume of the target is all that is known; Apple's targets include it. */
static uint32_t dot_product(void)
{
#if defined(__ARM_FEATURE_DOTPROD)
    return SUMI_CPU_DOTPROD;
#else
    return 0;
#endif
}

#endif

uint32_t sumi_cpu_features(void) { return SUMI_CPU_NEON | dot_product(); }

#endif
