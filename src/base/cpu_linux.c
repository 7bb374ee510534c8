/* Thread count from what Linux says: the allowed CPUs, narrowed to the fast ones, counted by physical core,
 * and cut to the CPU quota. Every file may be missing (old kernels, containers, other architectures); a step
 * without its file changes nothing.
 *
 * The affinity mask is read from proc_root so that a test can describe any machine; the system call is what is
 * left when that tree has none. */
#include "base/cpu.h"

#if defined(__linux__)

#include "base/cpu_quota.h"
#include "base/cpu_set.h"
#include "base/small_file.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Cores below this share of the fastest one's capacity or frequency are left out. Efficiency cores are at 0.75
 * or less (4.3 of 5.8 GHz on an i9-13900K); cores of one kind that boost differently stay above 0.9. */
static bool is_slow(int64_t speed, int64_t fastest) { return speed * 5 < fastest * 4; }

static bool read_allowed_list(sumi_cpu_set *set, const char *proc_root, const char *file)
{
    static const char key[] = "Cpus_allowed_list:";
    char *status = sumi_small_file_read("%s/%s", proc_root, file);
    char *line = status ? strstr(status, key) : NULL;
    bool ok = false;
    if (line) {
        line += sizeof key - 1;
        line += strspn(line, " \t");
        line[strcspn(line, "\n")] = 0;
        ok = sumi_cpu_set_parse(set, line);
    }
    free(status);
    return ok;
}

static void ask_affinity(sumi_cpu_set *set)
{
    cpu_set_t mask;
    CPU_ZERO(&mask);
    if (sched_getaffinity(0, sizeof mask, &mask) == 0) {
        for (int32_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
            if (CPU_ISSET(cpu, &mask)) sumi_cpu_set_add(set, cpu);
        return;
    }
    const long n_online = sysconf(_SC_NPROCESSORS_ONLN);
    for (int32_t cpu = 0; cpu < SUMI_CPU_SET_MAX && cpu < n_online; cpu++) sumi_cpu_set_add(set, cpu);
}

static bool read_list(sumi_cpu_set *set, const char *sysfs_root, const char *file)
{
    char *list = sumi_small_file_read("%s/devices/%s", sysfs_root, file);
    const bool ok = list && sumi_cpu_set_parse(set, list);
    free(list);
    return ok;
}

/* The CPUs this thread may run on. The kernel's list keeps CPUs that are not plugged in: take those out. */
static void allowed_cpus(sumi_cpu_set *allowed, const char *sysfs_root, const char *proc_root)
{
    *allowed = (sumi_cpu_set){ 0 };
    if (!read_allowed_list(allowed, proc_root, "thread-self/status")) {
        *allowed = (sumi_cpu_set){ 0 };
        if (!read_allowed_list(allowed, proc_root, "self/status")) {
            *allowed = (sumi_cpu_set){ 0 };
            ask_affinity(allowed);
        }
    }
    sumi_cpu_set online = { 0 };
    if (read_list(&online, sysfs_root, "system/cpu/online")) sumi_cpu_set_narrow(allowed, &online);
}

static int64_t cpu_number(const char *sysfs_root, int32_t cpu, const char *file)
{
    int64_t value = -1;
    char *text = sumi_small_file_read("%s/devices/system/cpu/cpu%d/%s", sysfs_root, (int)cpu, file);
    if (text) {
        char *end;
        const long long parsed = strtoll(text, &end, 10);
        if (end != text) value = parsed;
    }
    free(text);
    return value;
}

/* Drop the CPUs whose number in `file` is clearly below the highest; false if some CPU has no such file. */
static bool keep_fastest(sumi_cpu_set *set, const char *sysfs_root, const char *file)
{
    int64_t fastest = -1;
    for (int32_t cpu = 0; cpu < SUMI_CPU_SET_MAX; cpu++) {
        if (!sumi_cpu_set_has(set, cpu)) continue;
        const int64_t speed = cpu_number(sysfs_root, cpu, file);
        if (speed < 0) return false;
        if (speed > fastest) fastest = speed;
    }
    sumi_cpu_set fast = { 0 };
    for (int32_t cpu = 0; cpu < SUMI_CPU_SET_MAX; cpu++)
        if (sumi_cpu_set_has(set, cpu) && !is_slow(cpu_number(sysfs_root, cpu, file), fastest))
            sumi_cpu_set_add(&fast, cpu);
    return sumi_cpu_set_narrow(set, &fast);
}

/* On a hybrid CPU keep the fast cores: a pass meets at barriers, and every barrier would wait for the slowest. */
static void keep_fast_cores(sumi_cpu_set *set, const char *sysfs_root)
{
    sumi_cpu_set performance = { 0 };
    if (read_list(&performance, sysfs_root, "cpu_core/cpus")) { /* Intel hybrid, since Linux 5.13 */
        sumi_cpu_set_narrow(set, &performance);                 /* bound to efficiency cores: keep those */
        return;
    }
    if (!keep_fastest(set, sysfs_root, "cpu_capacity")) keep_fastest(set, sysfs_root, "cpufreq/cpuinfo_max_freq");
}

/* Where a CPU sits. core_id alone repeats between packages, and on some machines between dies or clusters. */
typedef struct core_place {
    int64_t package, die, cluster, core;
} core_place;

static core_place read_place(const char *sysfs_root, int32_t cpu)
{
    return (core_place){
        .package = cpu_number(sysfs_root, cpu, "topology/physical_package_id"),
        .die = cpu_number(sysfs_root, cpu, "topology/die_id"),
        .cluster = cpu_number(sysfs_root, cpu, "topology/cluster_id"),
        .core = cpu_number(sysfs_root, cpu, "topology/core_id"),
    };
}

static bool is_same_core(const core_place *a, const core_place *b)
{
    return a->package == b->package && a->die == b->die && a->cluster == b->cluster && a->core == b->core;
}

/* Physical cores among the CPUs of the set. A CPU without a core_id counts as a core. */
static int32_t count_cores(const sumi_cpu_set *set, const char *sysfs_root)
{
    const int32_t n_cpus = sumi_cpu_set_count(set);
    core_place *seen = malloc((size_t)n_cpus * sizeof *seen);
    if (!seen) return n_cpus;
    int32_t n_seen = 0, n_unplaced = 0;
    for (int32_t cpu = 0; cpu < SUMI_CPU_SET_MAX; cpu++) {
        if (!sumi_cpu_set_has(set, cpu)) continue;
        const core_place place = read_place(sysfs_root, cpu);
        int32_t i = 0;
        while (i < n_seen && !is_same_core(&seen[i], &place)) i++;
        if (place.core < 0)
            n_unplaced++;
        else if (i == n_seen)
            seen[n_seen++] = place;
    }
    free(seen);
    return n_seen + n_unplaced;
}

int32_t sumi_cpu_default_threads(const char *sysfs_root, const char *proc_root)
{
    sumi_cpu_set cpus;
    allowed_cpus(&cpus, sysfs_root, proc_root);
    keep_fast_cores(&cpus, sysfs_root);
    const int32_t n_cores = count_cores(&cpus, sysfs_root);
    const int32_t quota = sumi_cpu_quota(sysfs_root, proc_root);
    const int32_t n_threads = quota < n_cores ? quota : n_cores;
    return n_threads < 1 ? 1 : n_threads;
}

#endif
