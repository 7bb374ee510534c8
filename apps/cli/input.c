/* input.c - read the text a command works on. */
#include "input.h"
#include "report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* All of a stream. Grows by doubling because pipes do not tell their length. */
static int read_stream(input_text *out, FILE *stream, const char *name)
{
    size_t capacity = 1 << 14;
    char *bytes = malloc(capacity);
    size_t n = 0;
    while (bytes) {
        n += fread(bytes + n, 1, capacity - n - 1, stream);
        if (ferror(stream)) {
            const int status = report_failure("%s: cannot read: %s", name, strerror(errno));
            free(bytes);
            return status;
        }
        if (feof(stream)) break;
        if (n + 1 < capacity) continue;
        char *larger = capacity <= SIZE_MAX / 2 ? realloc(bytes, capacity * 2) : NULL;
        if (!larger) free(bytes);
        bytes = larger;
        capacity *= 2;
    }
    if (!bytes) return report_failure("%s: out of memory after %zu bytes", name, n);
    bytes[n] = '\0';
    *out = (input_text){ bytes, n };
    return STATUS_OK;
}

static int read_file(input_text *out, const char *path)
{
    FILE *stream = fopen(path, "rb");
    if (!stream) return report_failure("%s: %s", path, strerror(errno));
    const int status = read_stream(out, stream, path);
    fclose(stream);
    return status;
}

int input_read(input_text *out, const char *argument, const char *path, const char *command, const char *how)
{
    *out = (input_text){ 0 };
    if (argument && path) return report_usage("%s: a text and -f %s: give only one", command, path);
    const char *source = argument ? argument : path;
    if (source ? !strcmp(source, "-") : !isatty(STDIN_FILENO)) return read_stream(out, stdin, "stdin");
    if (path) return read_file(out, path);
    if (!argument) return report_usage("%s: no text: %s", command, how);
    *out = (input_text){ strdup(argument), strlen(argument) };
    return out->bytes ? STATUS_OK : report_no_memory();
}

void input_free(input_text *text)
{
    free(text->bytes);
    *text = (input_text){ 0 };
}

void input_drop_final_newline(input_text *text)
{
    if (text->n_bytes > 0 && text->bytes[text->n_bytes - 1] == '\n') text->bytes[--text->n_bytes] = '\0';
}
