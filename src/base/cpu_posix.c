/* Thread count where neither /proc nor /sys describes the machine. */
#include "base/cpu.h"

#if !defined(__linux__)

#include <unistd.h>

int32_t sumi_cpu_default_threads(const char *sysfs_root, const char *proc_root)
{
    (void)sysfs_root;
    (void)proc_root;
    const long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : (int32_t)n;
}

#endif
