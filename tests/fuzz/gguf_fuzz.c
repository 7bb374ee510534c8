/* libFuzzer target: any bytes are either refused with a message or readable to the last byte. */
#include "gguf_bytes.h"

#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const int fd = memfd_create("gguf", 0);
    if (fd < 0) return 0;
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (write(fd, data, n) == (ssize_t)n) {
        for (int q2 = SUMI_Q2_AUTO; q2 <= SUMI_Q2_G128_TAIL; q2++) {
            sumi_gguf *g = NULL;
            sumi_error err = { 0 };
            if (!sumi_gguf_open(&g, path, (sumi_q2_layout)q2, &err))
                gguf_walk(g);
            else if (g || !err.message[0])
                __builtin_trap();
            sumi_gguf_close(g);
        }
    }
    close(fd);
    return 0;
}
