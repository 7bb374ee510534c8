#include "base/cpu_set.h"

#include <ctype.h>
#include <stdlib.h>

enum { N_WORDS = SUMI_CPU_SET_MAX / 64 };

int32_t sumi_cpu_set_count(const sumi_cpu_set *set)
{
    int32_t n = 0;
    for (int32_t i = 0; i < N_WORDS; i++) n += __builtin_popcountll(set->words[i]);
    return n;
}

bool sumi_cpu_set_narrow(sumi_cpu_set *set, const sumi_cpu_set *other)
{
    sumi_cpu_set both;
    for (int32_t i = 0; i < N_WORDS; i++) both.words[i] = set->words[i] & other->words[i];
    if (sumi_cpu_set_count(&both) == 0) return false;
    *set = both;
    return true;
}

/* A CPU number at *text, which moves past it; -1 if there is none or it is too large. */
static int32_t parse_cpu(const char **text)
{
    if (!isdigit((unsigned char)**text)) return -1;
    char *end;
    const unsigned long cpu = strtoul(*text, &end, 10);
    *text = end;
    return cpu < SUMI_CPU_SET_MAX ? (int32_t)cpu : -1;
}

bool sumi_cpu_set_parse(sumi_cpu_set *set, const char *list)
{
    for (;;) {
        const int32_t first = parse_cpu(&list);
        if (first < 0) return false;
        int32_t last = first;
        if (*list == '-') {
            list++;
            last = parse_cpu(&list);
            if (last < first) return false;
        }
        for (int32_t cpu = first; cpu <= last; cpu++) sumi_cpu_set_add(set, cpu);
        if (*list != ',') break;
        list++;
    }
    while (isspace((unsigned char)*list)) list++;
    return *list == 0;
}
