/* Feature bits of AArch64, where NEON is part of the baseline. */
#include "base/cpu.h"

#if defined(__aarch64__)

uint32_t sumi_cpu_features(void) { return SUMI_CPU_NEON; }

#endif
