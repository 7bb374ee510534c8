/* How many CPUs' worth of time control groups leave to this process. Private to the base layer. */
#ifndef SUMI_BASE_CPU_QUOTA_H
#define SUMI_BASE_CPU_QUOTA_H

#include <stdint.h>

/* The smallest quota of the process's control groups and all their ancestors, version 1 and 2, rounded down but
 * at least 1; INT32_MAX without one. Roots as for sumi_cpu_default_threads. */
int32_t sumi_cpu_quota(const char *sysfs_root, const char *proc_root);

#endif
