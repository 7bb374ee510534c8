/* info.h - what both forms of `sumi info` print. */
#ifndef SUMI_CLI_INFO_H
#define SUMI_CLI_INFO_H

#include "sumi.h"

#include <jansson.h>
#include <stdio.h>

enum { INFO_MAX_TYPES = 64 };

/* All tensors of one type. */
typedef struct type_share {
    const char *name; /* as long as the file */
    int64_t n_tensors, n_weights;
    uint64_t n_bytes; /* of those tensors whose layout is known */
} type_share;

typedef struct file_summary {
    const char *path;
    sumi_file_info *file;
    json_t *keys; /* an object: every key and its value */
    type_share types[INFO_MAX_TYPES];
    int32_t n_types;
    int64_t n_params;
} file_summary;

/* Returns the exit status; call file_summary_free in any case. */
int file_summary_read(file_summary *s, const char *path);
void file_summary_free(file_summary *s);

/* A key's value, or NULL. The second form looks up "ARCHITECTURE.name". */
const json_t *file_summary_key(const file_summary *s, const char *key);
const json_t *file_summary_arch_key(const file_summary *s, const char *name);
/* A text key's value, or `otherwise`. */
const char *file_summary_text(const file_summary *s, const char *key, const char *otherwise);

/* Return the exit status. */
int info_print_json(const file_summary *s);
int info_print_text(const file_summary *s, bool with_tensors);

#endif
