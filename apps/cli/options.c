/* options.c - parse a command line against its table. The help text is options_help.c. */
#include "options.h"
#include "report.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NAMES = 128, MAX_NAME_CHARS = 32 };

/* ---- Nearest name ----------------------------------------------------------------------------------- */

static int32_t min3(int32_t a, int32_t b, int32_t c)
{
    const int32_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* Levenshtein's distance, one row of the table at a time. */
static int32_t edit_distance(const char *a, const char *b)
{
    int32_t row[MAX_NAME_CHARS + 1];
    const int32_t n_a = (int32_t)strlen(a);
    const int32_t n_b = (int32_t)strlen(b);
    for (int32_t j = 0; j <= n_b; j++) row[j] = j;
    for (int32_t i = 1; i <= n_a; i++) {
        int32_t diagonal = row[0];
        row[0] = i;
        for (int32_t j = 1; j <= n_b; j++) {
            const int32_t above = row[j];
            row[j] = min3(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = above;
        }
    }
    return row[n_b];
}

const char *nearest_name(const char *word, const char *const *names, int32_t n)
{
    if (strlen(word) > MAX_NAME_CHARS) return NULL;
    const char *best = NULL;
    int32_t best_distance = (int32_t)strlen(word) / 2; /* beyond half the word it is no misspelling */
    if (best_distance > 3) best_distance = 3;
    for (int32_t i = 0; i < n; i++) {
        if (strlen(names[i]) > MAX_NAME_CHARS) continue;
        const int32_t distance = edit_distance(word, names[i]);
        if (distance > best_distance || (best && distance == best_distance)) continue;
        best = names[i];
        best_distance = distance;
    }
    return best;
}

/* ---- Values ----------------------------------------------------------------------------------------- */

/* A whole decimal number and nothing else. */
static bool parse_integer(const char *text, long long *value)
{
    char *end = NULL;
    if (*text != '-' && (*text < '0' || *text > '9')) return false;
    errno = 0;
    *value = strtoll(text, &end, 10);
    return end != text && *end == '\0' && errno == 0;
}

static int set_int(const char *command, const char *name, const cli_option *o, const char *text)
{
    long long value;
    if (!parse_integer(text, &value)) return report_usage("%s: %s: '%s' is not a whole number", command, name, text);
    if ((double)value < o->min || (double)value > o->max)
        return report_usage("%s: %s: %lld is outside %.0f to %.0f", command, name, value, o->min, o->max);
    *(int32_t *)o->value = (int32_t)value;
    return OPTIONS_OK;
}

static int set_float(const char *command, const char *name, const cli_option *o, const char *text)
{
    char *end = NULL;
    const double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value))
        return report_usage("%s: %s: '%s' is not a number", command, name, text);
    if (value < o->min || value > o->max)
        return report_usage("%s: %s: %s is outside %g to %g", command, name, text, o->min, o->max);
    *(float *)o->value = (float)value;
    return OPTIONS_OK;
}

static int set_seed(const char *command, const char *name, const cli_option *o, const char *text)
{
    uint64_t *seed = o->value;
    if (!strcmp(text, "-1")) {
        *seed = SUMI_SEED_RANDOM;
        return OPTIONS_OK;
    }
    char *end = NULL;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno)
        return report_usage("%s: %s: '%s' is neither a number from 0 to 18446744073709551615 nor -1", command, name,
                            text);
    *seed = value;
    return OPTIONS_OK;
}

static int add_string(const char *command, const char *name, const cli_option *o, const char *text)
{
    string_list *list = o->value;
    if (!*text) return report_usage("%s: %s: the text is empty", command, name);
    if (list->n == MAX_STRINGS) return report_usage("%s: %s: given more than %d times", command, name, MAX_STRINGS);
    list->items[list->n++] = text;
    return OPTIONS_OK;
}

static int set_choice(const char *command, const char *name, const cli_option *o, const char *text)
{
    const size_t n = strlen(text);
    for (const char *c = o->choices; c; c = strchr(c, '|') ? strchr(c, '|') + 1 : NULL)
        if (n > 0 && !strncmp(c, text, n) && (c[n] == '|' || c[n] == '\0')) {
            *(const char **)o->value = text;
            return OPTIONS_OK;
        }
    return report_usage("%s: %s: '%s' is none of %s", command, name, text, o->choices);
}

static int set_value(const char *command, const char *name, const cli_option *o, const char *text)
{
    switch (o->type) {
    case OPTION_FLAG:
        break; /* never has a text */
    case OPTION_INT:
        return set_int(command, name, o, text);
    case OPTION_FLOAT:
        return set_float(command, name, o, text);
    case OPTION_SEED:
        return set_seed(command, name, o, text);
    case OPTION_STRING:
        *(const char **)o->value = text;
        break;
    case OPTION_STRINGS:
        return add_string(command, name, o, text);
    case OPTION_CHOICE:
        return set_choice(command, name, o, text);
    }
    return OPTIONS_OK;
}

static int32_t count_commas(const char *text)
{
    int32_t n = 0;
    for (; *text; text++) n += *text == ',';
    return n;
}

int int_list_parse(int_list *out, const char *command, const char *name, const char *text, int32_t min, int32_t max)
{
    *out = (int_list){ .items = malloc(sizeof(int32_t) * ((size_t)count_commas(text) + 1)) };
    if (!out->items) return report_no_memory();
    for (const char *c = text;;) {
        char *end = NULL;
        errno = 0;
        const long long value = strtoll(c, &end, 10);
        if (end == c || (*end && *end != ',') || errno) {
            free(out->items);
            *out = (int_list){ 0 };
            return report_usage("%s: %s: '%.64s' is not a list of whole numbers such as 1,2,3", command, name, text);
        }
        if (value < min || value > max) {
            free(out->items);
            *out = (int_list){ 0 };
            return report_usage("%s: %s: %lld is outside %d to %d", command, name, value, min, max);
        }
        out->items[out->n++] = (int32_t)value;
        if (!*end) return OPTIONS_OK;
        c = end + 1;
    }
}

/* ---- Arguments -------------------------------------------------------------------------------------- */

/* Is `word`, up to n characters, this name? */
static bool is_name(const char *name, const char *word, size_t n)
{
    return name && strlen(name) == n && !memcmp(name, word, n);
}

static const cli_option *find_option(const option_set *set, const char *word, size_t n)
{
    for (int32_t g = 0; g < set->n_groups; g++)
        for (int32_t i = 0; i < set->groups[g].n; i++) {
            const cli_option *o = &set->groups[g].options[i];
            if (is_name(o->name, word, n) || is_name(o->alias, word, n)) return o;
        }
    return NULL;
}

static int unknown_option(const option_set *set, const char *word, size_t n)
{
    const char *names[MAX_NAMES];
    int32_t n_names = 0;
    for (int32_t g = 0; g < set->n_groups; g++)
        for (int32_t i = 0; i < set->groups[g].n && n_names + 2 <= MAX_NAMES; i++) {
            const cli_option *o = &set->groups[g].options[i];
            names[n_names++] = o->name;
            if (o->alias) names[n_names++] = o->alias;
        }
    char name[MAX_NAME_CHARS + 1];
    snprintf(name, sizeof name, "%.*s", (int)n, word);
    const char *near = nearest_name(name, names, n_names);
    if (near) return report_usage("%s: unknown option '%s', did you mean '%s'?", set->command, name, near);
    return report_usage("%s: unknown option '%s'; 'sumi %s -h' lists all", set->command, name, set->command);
}

static int parse_one(const option_set *set, int argc, char **argv, int *i)
{
    const char *word = argv[*i];
    const char *equals = word[1] == '-' ? strchr(word, '=') : NULL; /* only long names take "=value" */
    const size_t n = equals ? (size_t)(equals - word) : strlen(word);
    const cli_option *o = find_option(set, word, n);
    if (!o) return unknown_option(set, word, n);

    char name[MAX_NAME_CHARS + 1];
    snprintf(name, sizeof name, "%.*s", (int)n, word);
    if (o->type == OPTION_FLAG) {
        if (equals) return report_usage("%s: %s takes no value", set->command, name);
        *(bool *)o->value = true;
        return OPTIONS_OK;
    }
    if (equals) return set_value(set->command, name, o, equals + 1);
    if (*i + 1 >= argc) return report_usage("%s: %s needs a value: %s %s", set->command, name, name, o->argument);
    return set_value(set->command, name, o, argv[++*i]);
}

int options_parse(const option_set *set, int argc, char **argv, int *n_operands)
{
    bool only_operands = false;
    int n = 0;
    for (int i = 0; i < argc; i++) {
        const bool is_option = argv[i][0] == '-' && argv[i][1] && !only_operands; /* "-" alone is an operand */
        if (!is_option) {
            if (n == set->max_operands) return report_usage("%s: unexpected argument '%s'", set->command, argv[i]);
            argv[n++] = argv[i];
        } else if (!strcmp(argv[i], "--")) {
            only_operands = true;
        } else if (!strcmp(argv[i], "-h") || !strcmp(argv[i], "--help")) {
            return options_help(set);
        } else {
            const int status = parse_one(set, argc, argv, &i);
            if (status != OPTIONS_OK) return status;
        }
    }
    if (n_operands) *n_operands = n;
    return OPTIONS_OK;
}
