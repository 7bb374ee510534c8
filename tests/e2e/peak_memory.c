/* peak_memory FILE COMMAND... - run COMMAND, write its peak resident memory in bytes to FILE, return its status. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: %s FILE COMMAND...\n", argv[0]);
        return 125;
    }
    const pid_t child = fork();
    if (child == 0) {
        execvp(argv[2], argv + 2);
        fprintf(stderr, "%s: %s\n", argv[2], strerror(errno));
        _exit(127);
    }
    int status;
    struct rusage usage;
    if (child < 0 || wait4(child, &status, 0, &usage) < 0) {
        fprintf(stderr, "%s: %s\n", argv[2], strerror(errno));
        return 125;
    }
    FILE *file = fopen(argv[1], "w");
    if (!file || fprintf(file, "%lld\n", usage.ru_maxrss * 1024LL) < 0 || fclose(file)) {
        fprintf(stderr, "%s: %s\n", argv[1], strerror(errno));
        return 125;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}
