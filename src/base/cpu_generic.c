/* A CPU without variants of its own: the portable kernels run. */
#include "base/cpu.h"

#if !defined(__x86_64__) && !defined(__i386__) && !defined(__aarch64__)

uint32_t sumi_cpu_features(void) { return 0; }

#endif
