/* How much memory this process may still take. */
#ifndef SUMI_BASE_MEMORY_H
#define SUMI_BASE_MEMORY_H

#include "base/status.h"

/* Bytes that can be allocated without swapping or being killed: the system's estimate, but not more than the
 * memory control group (version 1 or 2) leaves. UINT64_MAX: unknown. Roots as in sumi_cpu_default_threads. */
uint64_t sumi_memory_available_bytes(const char *sysfs_root, const char *proc_root);

/* Refuse a plan that does not fit: SUMI_ENOMEM, with both numbers after the formatted beginning of the message. */
__attribute__((format(printf, 3, 4))) sumi_status sumi_memory_check(uint64_t needed_bytes, sumi_error *err,
                                                                    const char *fmt, ...);

#endif
