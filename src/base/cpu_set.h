/* A set of logical CPUs, and the kernel's text for one ("0-3,8,10-11"). Private to the base layer. */
#ifndef SUMI_BASE_CPU_SET_H
#define SUMI_BASE_CPU_SET_H

#include <stdbool.h>
#include <stdint.h>

enum { SUMI_CPU_SET_MAX = 8192 }; /* the largest NR_CPUS that Linux is configured with */

typedef struct sumi_cpu_set {
    uint64_t words[SUMI_CPU_SET_MAX / 64];
} sumi_cpu_set;

static inline void sumi_cpu_set_add(sumi_cpu_set *set, int32_t cpu)
{
    set->words[cpu / 64] |= UINT64_C(1) << cpu % 64;
}

static inline bool sumi_cpu_set_has(const sumi_cpu_set *set, int32_t cpu)
{
    return set->words[cpu / 64] >> cpu % 64 & 1;
}

int32_t sumi_cpu_set_count(const sumi_cpu_set *set);

/* *set &= *other, unless that would leave it empty: then it stays and the result is false. */
bool sumi_cpu_set_narrow(sumi_cpu_set *set, const sumi_cpu_set *other);

/* Add the CPUs of a list to an empty set. False, with *set undefined, if the text is not a list, a number is
 * SUMI_CPU_SET_MAX or more, or it names no CPU. White space may follow. */
bool sumi_cpu_set_parse(sumi_cpu_set *set, const char *list);

#endif
