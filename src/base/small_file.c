#include "base/small_file.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_PATH_BYTES = 4096, MAX_TEXT_BYTES = 64 << 10, FIRST_BYTES = 256 };

static char *read_text(FILE *f)
{
    size_t capacity = FIRST_BYTES, n = 0;
    char *text = malloc(capacity);
    while (text) {
        n += fread(text + n, 1, capacity - 1 - n, f);
        if (n < capacity - 1 || capacity == MAX_TEXT_BYTES) {
            text[n] = 0;
            return text;
        }
        capacity *= 2;
        char *larger = realloc(text, capacity);
        if (!larger) free(text);
        text = larger;
    }
    return NULL;
}

char *sumi_small_file_read(const char *path_fmt, ...)
{
    char path[MAX_PATH_BYTES];
    va_list args;
    va_start(args, path_fmt);
    const int n = vsnprintf(path, sizeof path, path_fmt, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof path) return NULL;
    FILE *f = fopen(path, "re");
    if (!f) return NULL;
    char *text = read_text(f);
    if (text && ferror(f)) {
        free(text);
        text = NULL;
    }
    fclose(f);
    return text;
}
