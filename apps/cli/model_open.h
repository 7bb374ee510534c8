/* model_open.h - from command line to a loaded model: which file, which device, how much context. */
#ifndef SUMI_CLI_MODEL_OPEN_H
#define SUMI_CLI_MODEL_OPEN_H

#include "options.h"

typedef struct model_args {
    const char *path; /* NULL: the demonstration model */
    const char *device, *isa;
    int32_t n_threads; /* 0: chosen by the library */
    bool exact;
} model_args;

model_args model_args_defaults(void);

/* The options above. `table` is filled and must live as long as the group. */
enum { MODEL_OPTIONS = 5 };
option_group model_option_group(model_args *args, cli_option table[MODEL_OPTIONS]);

/* -m alone, for commands that need no device. */
cli_option model_path_option(const char **path);

/* -c. The value starts as CONTEXT_DEFAULT. */
enum { CONTEXT_DEFAULT = -1 };
cli_option context_option(int32_t *n_ctx);

/* *path: `given`, or when NULL the demonstration model next to the program, in the install prefix or in the source
 * tree; malloc'ed. Returns the exit status; the message lists where it looked. */
int model_find(const char *given, char **path);

typedef struct open_model {
    char *path;
    sumi_device *device;
    sumi_model *model;
    sumi_session *session;
    sumi_model_info info;
} open_model;

/* Open the device and load the model, with a progress bar. Returns the exit status; call model_close in any case. */
int model_open(open_model *m, const model_args *args);

/* A session of n_ctx tokens: 0 is the model's context, CONTEXT_DEFAULT that and at most 4096. */
int model_open_session(open_model *m, int32_t n_ctx, bool exact);

void model_close(open_model *m);

#endif
