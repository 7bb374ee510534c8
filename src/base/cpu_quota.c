/* proc_root/self/cgroup names the process's groups, one line a hierarchy: "ID:CONTROLLERS:PATH". Version 2 is
 * the line "0::PATH" with the limit in cpu.max ("QUOTA PERIOD" or "max PERIOD"); version 1 is the line whose
 * controllers include cpu, with cpu.cfs_quota_us (-1: none) and cpu.cfs_period_us. A limit of any ancestor
 * holds too. Source: cgroups(7); Linux Documentation/admin-guide/cgroup-v2.rst and scheduler/sched-bwc.rst.
 *
 * Inside a container PATH may be that of the host while only the container's own group is mounted: its files
 * are then missing on the way, and the mount's root, where the walk ends, holds the container's limit. */
#include "base/cpu_quota.h"

#include "base/small_file.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_GROUP_BYTES = 4096 };

static int32_t whole_cpus(int64_t quota_us, int64_t period_us)
{
    if (quota_us <= 0 || period_us <= 0) return INT32_MAX;
    const int64_t n = quota_us / period_us;
    return n < 1 ? 1 : n < INT32_MAX ? (int32_t)n : INT32_MAX;
}

/* `group` is a directory of a mounted hierarchy, as a path below fs/cgroup. */
static int32_t group_quota_v2(const char *sysfs_root, const char *group)
{
    char *text = sumi_small_file_read("%s/fs/cgroup/%s/cpu.max", sysfs_root, group);
    long long quota_us, period_us;
    int32_t n = INT32_MAX;
    if (text && sscanf(text, "%lld %lld", &quota_us, &period_us) == 2) n = whole_cpus(quota_us, period_us);
    free(text);
    return n;
}

static int32_t group_quota_v1(const char *sysfs_root, const char *group)
{
    char *quota = sumi_small_file_read("%s/fs/cgroup/%s/cpu.cfs_quota_us", sysfs_root, group);
    char *period = sumi_small_file_read("%s/fs/cgroup/%s/cpu.cfs_period_us", sysfs_root, group);
    int32_t n = INT32_MAX;
    if (quota && period) n = whole_cpus(strtoll(quota, NULL, 10), strtoll(period, NULL, 10));
    free(quota);
    free(period);
    return n;
}

typedef struct hierarchy {
    const char *mount; /* below fs/cgroup */
    int32_t (*group_quota)(const char *sysfs_root, const char *group);
} hierarchy;

/* Where version 2 is mounted: alone, or beside version 1. */
static const hierarchy version_2[] = { { ".", group_quota_v2 }, { "unified", group_quota_v2 }, { NULL, NULL } };

/* The name is the mounter's choice, and one of these everywhere. */
static const hierarchy version_1[] = {
    { "cpu", group_quota_v1 }, { "cpu,cpuacct", group_quota_v1 }, { "cpuacct,cpu", group_quota_v1 }, { NULL, NULL }
};

/* Smallest limit from the group at `path` ("/a/b") up to the root of the hierarchy. */
static int32_t path_quota(const hierarchy *h, const char *sysfs_root, const char *path)
{
    if (strstr(path, "/..")) path = ""; /* outside this control-group namespace: only the root can be read */
    char group[MAX_GROUP_BYTES];
    const int n = snprintf(group, sizeof group, "%s%s", h->mount, path);
    if (n < 0 || (size_t)n >= sizeof group) return INT32_MAX;
    int32_t smallest = h->group_quota(sysfs_root, group);
    for (char *slash; (slash = strrchr(group, '/'));) {
        *slash = 0;
        const int32_t quota = h->group_quota(sysfs_root, group);
        if (quota < smallest) smallest = quota;
    }
    return smallest;
}

static bool lists_cpu(char *controllers)
{
    char *rest;
    for (char *name = strtok_r(controllers, ",", &rest); name; name = strtok_r(NULL, ",", &rest))
        if (!strcmp(name, "cpu")) return true;
    return false;
}

/* Limit by one line of self/cgroup, which is cut up in place. */
static int32_t line_quota(const char *sysfs_root, char *line)
{
    char *controllers = strchr(line, ':');
    char *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path) return INT32_MAX;
    *path++ = 0;
    controllers++;
    const bool is_version_2 = controllers[0] == 0;
    if (!is_version_2 && !lists_cpu(controllers)) return INT32_MAX;
    int32_t smallest = INT32_MAX;
    for (const hierarchy *h = is_version_2 ? version_2 : version_1; h->mount; h++) {
        const int32_t n = path_quota(h, sysfs_root, path);
        if (n < smallest) smallest = n;
    }
    return smallest;
}

int32_t sumi_cpu_quota(const char *sysfs_root, const char *proc_root)
{
    char *groups = sumi_small_file_read("%s/self/cgroup", proc_root);
    int32_t smallest = INT32_MAX;
    char *rest = NULL;
    for (char *line = groups ? strtok_r(groups, "\n", &rest) : NULL; line; line = strtok_r(NULL, "\n", &rest)) {
        const int32_t n = line_quota(sysfs_root, line);
        if (n < smallest) smallest = n;
    }
    free(groups);
    return smallest;
}
