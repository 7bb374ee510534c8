/* options.h - command lines described as tables.
 *
 * A command fills a table of cli_option whose `value` pointers lead to its variables. What those hold before
 * options_parse is the default; the same table gives the checks, the error messages and the help text. */
#ifndef SUMI_CLI_OPTIONS_H
#define SUMI_CLI_OPTIONS_H

#include "sumi.h"

typedef enum option_type {
    OPTION_FLAG,    /* bool: true once given */
    OPTION_INT,     /* int32_t from min to max */
    OPTION_FLOAT,   /* float from min to max */
    OPTION_SEED,    /* uint64_t; -1 is SUMI_SEED_RANDOM */
    OPTION_STRING,  /* const char * */
    OPTION_STRINGS, /* string_list: may be given more than once */
    OPTION_CHOICE   /* const char *: one of `choices` */
} option_type;

enum { MAX_STRINGS = 16 };

typedef struct string_list {
    const char *items[MAX_STRINGS];
    int32_t n;
} string_list;

typedef struct cli_option {
    const char *name;     /* "-n" or "--temp" */
    const char *alias;    /* a second name, or NULL */
    const char *argument; /* how the help calls the value; NULL for a flag */
    option_type type;
    void *value;
    double min, max;          /* OPTION_INT, OPTION_FLOAT; both ends belong to the range */
    const char *choices;      /* OPTION_CHOICE: "scalar|avx2" */
    const char *default_text; /* when the value alone does not say it */
    const char *help;
} cli_option;

typedef struct option_group {
    const char *title;
    const cli_option *options;
    int32_t n;
} option_group;

typedef struct option_set {
    const char *command;  /* "run" */
    const char *synopsis; /* what follows the name in "usage: sumi run ..." */
    const char *about;    /* paragraphs of the help; lines end in \n */
    const option_group *groups;
    int32_t n_groups;
    int32_t max_operands; /* arguments that are not options */
} option_set;

/* Everything was understood: go on. Any other result of options_parse is the exit status. */
enum { OPTIONS_OK = -1 };

/* Parse the arguments after the command's name. Operands are moved to the front of argv and counted in
 * *n_operands; strings stay in argv. Accepts "--name value", "--name=value" and "--" before operands. -h prints
 * the help. */
int options_parse(const option_set *set, int argc, char **argv, int *n_operands);

/* The help of a command on stdout; returns the exit status. */
int options_help(const option_set *set);

/* The name among `names` that differs from `word` by the fewest edits, or NULL when none is close. */
const char *nearest_name(const char *word, const char *const *names, int32_t n);

/* A comma-separated list of integers from min to max, malloc'ed. name: the option, for messages. Returns
 * OPTIONS_OK or an exit status. */
typedef struct int_list {
    int32_t *items;
    int32_t n;
} int_list;

int int_list_parse(int_list *out, const char *command, const char *name, const char *text, int32_t min, int32_t max);

#endif
