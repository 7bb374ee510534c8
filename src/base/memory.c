#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/small_file.h"

/* MemAvailable: free pages and caches that can be dropped. Source: proc(5). */
static uint64_t system_available(const char *proc_root)
{
    char *text = sumi_small_file_read("%s/meminfo", proc_root);
    const char *line = text ? strstr(text, "MemAvailable:") : NULL;
    unsigned long long kib;
    uint64_t n = UINT64_MAX;
    if (line && sscanf(line, "MemAvailable: %llu kB", &kib) == 1) n = (uint64_t)kib * 1024;
    free(text);
    return n;
}

/* A number of memory.stat: lines of "NAME BYTES". 0 if it is not there. */
static uint64_t stat_bytes(const char *stat, const char *name)
{
    const size_t n = strlen(name);
    for (const char *line = stat; line; line = strchr(line, '\n')) {
        if (*line == '\n') line++;
        if (strncmp(line, name, n) == 0 && line[n] == ' ') return strtoull(line + n, NULL, 10);
    }
    return 0;
}

typedef struct group_files {
    const char *limit, *usage, *stat;
    const char *active, *inactive; /* names of the page cache in stat */
} group_files;

/* What a group's limit leaves over its use; UINT64_MAX without a limit ("max", or no such file). Page cache counts
 * as use but gives way when memory is asked for: a model file just read must not make the model look too big. */
static uint64_t group_available(const char *sysfs_root, const group_files *files)
{
    char *limit = sumi_small_file_read("%s/fs/cgroup/%s", sysfs_root, files->limit);
    char *usage = sumi_small_file_read("%s/fs/cgroup/%s", sysfs_root, files->usage);
    char *stat = sumi_small_file_read("%s/fs/cgroup/%s", sysfs_root, files->stat);
    unsigned long long limit_bytes, used_bytes;
    uint64_t n = UINT64_MAX;
    if (limit && usage && sscanf(limit, "%llu", &limit_bytes) == 1 && sscanf(usage, "%llu", &used_bytes) == 1) {
        const uint64_t cache = stat ? stat_bytes(stat, files->active) + stat_bytes(stat, files->inactive) : 0;
        used_bytes -= cache < used_bytes ? cache : used_bytes;
        n = limit_bytes > used_bytes ? limit_bytes - used_bytes : 0;
    }
    free(limit);
    free(usage);
    free(stat);
    return n;
}

uint64_t sumi_memory_available_bytes(const char *sysfs_root, const char *proc_root)
{
    /* Inside a container its own group is the root of the mounted hierarchy. */
    static const group_files version_2 = { "memory.max", "memory.current", "memory.stat", "active_file",
                                           "inactive_file" };
    static const group_files version_1 = { "memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes",
                                           "memory/memory.stat", "total_active_file", "total_inactive_file" };
    const uint64_t candidates[] = {
        system_available(proc_root),
        group_available(sysfs_root, &version_2),
        group_available(sysfs_root, &version_1),
    };
    uint64_t smallest = UINT64_MAX;
    for (size_t i = 0; i < sizeof candidates / sizeof candidates[0]; i++)
        if (candidates[i] < smallest) smallest = candidates[i];
    return smallest;
}

sumi_status sumi_memory_check(uint64_t needed_bytes, sumi_error *err, const char *fmt, ...)
{
    const uint64_t available = sumi_memory_available_bytes("/sys", "/proc");
    if (needed_bytes <= available) return SUMI_OK;
    char what[256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    return sumi_fail(err, SUMI_ENOMEM, "%s: needs %.2f GB, %.2f GB are available", what, (double)needed_bytes / 1e9,
                     (double)available / 1e9);
}
