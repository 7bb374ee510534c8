/* Read-only file mapping. */
#ifndef SUMI_BASE_FILE_H
#define SUMI_BASE_FILE_H

#include "base/status.h"

typedef struct sumi_file {
    const uint8_t *data; /* NULL when not mapped */
    size_t size_bytes;
} sumi_file;

/* Map a regular file. *file must be zero; on failure it stays zero. An empty file maps to size 0 with data
 * not NULL. Errors: SUMI_EIO with the path and the system's reason (missing, a directory, no permission). */
sumi_status sumi_file_map(sumi_file *file, const char *path, sumi_error *err);
void sumi_file_unmap(sumi_file *file); /* accepts a zero file */

/* The whole pages inside [offset, offset + n) will not be read again soon: take them out of resident memory.
 * Advice only; the bytes stay readable. */
void sumi_file_forget(const sumi_file *file, size_t offset_bytes, size_t n_bytes);

#endif
