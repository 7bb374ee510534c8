#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const uint8_t empty_file[1];

sumi_status sumi_file_map(sumi_file *file, const char *path, sumi_error *err)
{
    /* O_NONBLOCK: opening a named pipe must not wait for a writer before fstat can refuse it. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return sumi_fail(err, SUMI_EIO, "%s: %s", path, strerror(errno));
    sumi_status status = SUMI_OK;
    struct stat st;
    void *data = NULL;
    if (fstat(fd, &st)) {
        status = sumi_fail(err, SUMI_EIO, "%s: %s", path, strerror(errno));
    } else if (S_ISDIR(st.st_mode)) {
        status = sumi_fail(err, SUMI_EIO, "%s: is a directory", path);
    } else if (!S_ISREG(st.st_mode)) {
        status = sumi_fail(err, SUMI_EIO, "%s: not a regular file", path);
    } else if (st.st_size == 0) {
        file->data = empty_file;
    } else {
        data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data == MAP_FAILED) {
            status = sumi_fail(err, SUMI_EIO, "%s: cannot map %lld bytes: %s", path, (long long)st.st_size,
                               strerror(errno));
        } else {
            file->data = data;
            file->size_bytes = (size_t)st.st_size;
        }
    }
    close(fd);
    return status;
}

void sumi_file_unmap(sumi_file *file)
{
    if (file->size_bytes) munmap((void *)file->data, file->size_bytes);
    *file = (sumi_file){ 0 };
}

void sumi_file_forget(const sumi_file *file, size_t offset_bytes, size_t n_bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t begin = (offset_bytes + page - 1) / page * page;
    const size_t end = (offset_bytes + n_bytes) / page * page;
    if (begin < end && end <= file->size_bytes) madvise((char *)file->data + begin, end - begin, MADV_DONTNEED);
}
