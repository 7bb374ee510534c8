/* What this CPU can execute and how much of it this process may use. */
#ifndef SUMI_BASE_CPU_H
#define SUMI_BASE_CPU_H

#include <stdint.h>

/* Feature bits; each is set only if the operating system saves the registers too. */
enum {
    SUMI_CPU_AVX2 = 1u << 0,   /* AVX2, with FMA and F16C: every AVX2 machine has them */
    SUMI_CPU_AVX512 = 1u << 1, /* AVX-512 F, BW, VL, DQ and VNNI */
    SUMI_CPU_NEON = 1u << 2    /* AArch64 baseline */
};

uint32_t sumi_cpu_features(void);

/* Threads worth running: physical cores in the affinity mask, not above the cgroup (v1 or v2) CPU quota
 * rounded down; at least 1. On a hybrid CPU cores below 4/5 of the highest capacity do not count.
 * sysfs_root: "/sys" (cgroup files are looked up below it), proc_root: "/proc"; tests pass their own trees. */
int32_t sumi_cpu_default_threads(const char *sysfs_root, const char *proc_root);

#endif
