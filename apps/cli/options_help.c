/* options_help.c - the help text of a command, from its option table. */
#include "options.h"
#include "output.h"
#include "report.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HELP_COLUMN = 26, LINE_COLUMNS = 80 };

static void print_wrapped(FILE *out, const char *text, int column)
{
    while (*text) {
        const size_t n = strcspn(text, " ");
        if (column > HELP_COLUMN && column + 1 + (int)n > LINE_COLUMNS) {
            fprintf(out, "\n%*s", HELP_COLUMN, "");
            column = HELP_COLUMN;
        } else if (column > HELP_COLUMN) {
            fputc(' ', out);
            column++;
        }
        fwrite(text, 1, n, out);
        column += (int)n;
        text += n + strspn(text + n, " ");
    }
    fputc('\n', out);
}

static void format_range(const cli_option *o, char *text, size_t n_bytes)
{
    text[0] = '\0';
    if (o->type == OPTION_CHOICE) snprintf(text, n_bytes, "%s", o->choices);
    if (o->type != OPTION_INT && o->type != OPTION_FLOAT) return;
    if (o->max >= INT32_MAX && o->min <= 0) return; /* every sensible number: nothing worth saying */
    if (o->max >= INT32_MAX)
        snprintf(text, n_bytes, "at least %g", o->min);
    else
        snprintf(text, n_bytes, "%g to %g", o->min, o->max);
}

static void format_default(const cli_option *o, char *text, size_t n_bytes)
{
    text[0] = '\0';
    if (o->default_text) {
        snprintf(text, n_bytes, "default: %s", o->default_text);
        return;
    }
    switch (o->type) {
    case OPTION_INT:
        snprintf(text, n_bytes, "default: %d", *(const int32_t *)o->value);
        break;
    case OPTION_FLOAT:
        snprintf(text, n_bytes, "default: %g", (double)*(const float *)o->value);
        break;
    case OPTION_STRING:
    case OPTION_CHOICE:
        if (*(const char *const *)o->value) snprintf(text, n_bytes, "default: %s", *(const char *const *)o->value);
        break;
    case OPTION_FLAG:
    case OPTION_SEED:
    case OPTION_STRINGS:
        break;
    }
}

static void print_option(FILE *out, const cli_option *o)
{
    char range[64], value[128], help[1024];
    format_range(o, range, sizeof range);
    format_default(o, value, sizeof value);
    const bool has_notes = range[0] || value[0];
    snprintf(help, sizeof help, "%s%s%s%s%s%s", o->help, has_notes ? " (" : "", range,
             range[0] && value[0] ? "; " : "", value, has_notes ? ")" : "");

    const int column = fprintf(out, "  %s%s%s%s%s", o->name, o->alias ? ", " : "", o->alias ? o->alias : "",
                               o->argument ? " " : "", o->argument ? o->argument : "");
    if (column < HELP_COLUMN)
        fprintf(out, "%*s", HELP_COLUMN - column, "");
    else
        fprintf(out, "\n%*s", HELP_COLUMN, "");
    print_wrapped(out, help, HELP_COLUMN);
}

int options_help(const option_set *set)
{
    whole_output text;
    if (!whole_output_begin(&text)) return report_no_memory();
    fprintf(text.stream, "usage: sumi %s %s\n\n%s", set->command, set->synopsis, set->about);
    for (int32_t g = 0; g < set->n_groups; g++) {
        fprintf(text.stream, "\n%s:\n", set->groups[g].title);
        for (int32_t i = 0; i < set->groups[g].n; i++) print_option(text.stream, &set->groups[g].options[i]);
    }
    return whole_output_print(&text);
}
