/* output.c - stdout and files, written whole or not at all. */
#include "output.h"
#include "report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int output_write(const void *bytes, size_t n_bytes)
{
    const char *next = bytes;
    while (n_bytes > 0) {
        const ssize_t n = write(STDOUT_FILENO, next, n_bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno;
        next += n;
        n_bytes -= (size_t)n;
    }
    return 0;
}

int output_status(int error_number)
{
    return error_number ? report_failure("stdout: %s", strerror(error_number)) : STATUS_OK;
}

/* ---- Text in memory --------------------------------------------------------------------------------- */

bool whole_output_begin(whole_output *w)
{
    *w = (whole_output){ 0 };
    w->stream = open_memstream(&w->bytes, &w->n_bytes);
    return w->stream != NULL;
}

int whole_output_print(whole_output *w)
{
    const bool failed = ferror(w->stream) != 0;
    const int status =
        fclose(w->stream) || failed ? report_no_memory() : output_status(output_write(w->bytes, w->n_bytes));
    free(w->bytes);
    *w = (whole_output){ 0 };
    return status;
}

void whole_output_discard(whole_output *w)
{
    if (w->stream) fclose(w->stream);
    free(w->bytes);
    *w = (whole_output){ 0 };
}

int output_json(json_t *root, size_t flags)
{
    char *text = root ? json_dumps(root, flags) : NULL;
    json_decref(root);
    if (!text) return report_failure("JSON: out of memory, or a number that is not finite");
    const size_t n = strlen(text);
    text[n] = '\n'; /* the newline takes the NUL's place: one write, so no reader sees the line without its end */
    const int error_number = output_write(text, n + 1);
    free(text);
    return output_status(error_number);
}

/* ---- Files ------------------------------------------------------------------------------------------ */

static int file_failure(const char *path, const char *what)
{
    return report_failure("%s: %s: %s", path ? path : "stdout", what, strerror(errno));
}

static int begin_named(staged_file *f)
{
    struct stat s;
    if (!stat(f->path, &s) && !S_ISREG(s.st_mode)) {
        f->stream = fopen(f->path, "wb");
        return f->stream ? STATUS_OK : file_failure(f->path, "cannot open for writing");
    }
    const size_t n_bytes = strlen(f->path) + 32;
    f->temporary = malloc(n_bytes);
    if (!f->temporary) return report_no_memory();
    snprintf(f->temporary, n_bytes, "%s.%ld.tmp", f->path, (long)getpid());
    const int fd = open(f->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    f->stream = fd < 0 ? NULL : fdopen(fd, "wb");
    if (f->stream) return STATUS_OK;
    const int status = file_failure(f->temporary, "cannot create");
    if (fd >= 0) {
        close(fd);
        unlink(f->temporary);
    }
    free(f->temporary);
    f->temporary = NULL;
    return status;
}

int staged_file_begin(staged_file *f, const char *path)
{
    *f = (staged_file){ .path = path };
    if (path) return begin_named(f);
    f->stream = tmpfile();
    return f->stream ? STATUS_OK : report_failure("temporary file: %s", strerror(errno));
}

static int copy_to_stdout(FILE *stream)
{
    char chunk[1 << 16];
    size_t n;
    rewind(stream);
    while ((n = fread(chunk, 1, sizeof chunk, stream)) > 0) {
        const int error_number = output_write(chunk, n);
        if (error_number) return output_status(error_number);
    }
    return ferror(stream) ? report_failure("temporary file: cannot read back") : STATUS_OK;
}

int staged_file_commit(staged_file *f)
{
    int status = STATUS_OK;
    if (fflush(f->stream) || ferror(f->stream)) status = file_failure(f->path, "cannot write");
    if (!status && !f->path) status = copy_to_stdout(f->stream);
    if (fclose(f->stream) && !status) status = file_failure(f->path, "cannot write");
    f->stream = NULL;
    if (!status && f->temporary && rename(f->temporary, f->path)) status = file_failure(f->path, "cannot rename to");
    if (status && f->temporary) unlink(f->temporary);
    free(f->temporary);
    *f = (staged_file){ 0 };
    return status;
}

void staged_file_discard(staged_file *f)
{
    if (f->stream) fclose(f->stream);
    if (f->temporary) unlink(f->temporary);
    free(f->temporary);
    *f = (staged_file){ 0 };
}
