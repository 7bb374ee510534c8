/* A temporary directory for one test: files are written by relative path, folders made on the way. */
#ifndef SUMI_TESTS_TEMP_TREE_H
#define SUMI_TESTS_TEMP_TREE_H

#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct temp_tree {
    char root[64];
} temp_tree;

static inline void temp_tree_init(temp_tree *tree)
{
    snprintf(tree->root, sizeof tree->root, "/tmp/sumi-test-XXXXXX");
    assert_non_null(mkdtemp(tree->root));
}

static inline int temp_tree_remove_entry(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st, (void)kind, (void)ftw;
    return remove(path);
}

static inline void temp_tree_deinit(temp_tree *tree)
{
    assert_int_equal(nftw(tree->root, temp_tree_remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/* root/FORMAT into path[512]. */
__attribute__((format(printf, 3, 4))) static inline void temp_tree_path(const temp_tree *tree, char *path,
                                                                        const char *fmt, ...)
{
    int n = snprintf(path, 512, "%s/", tree->root);
    va_list args;
    va_start(args, fmt);
    n += vsnprintf(path + n, 512 - (size_t)n, fmt, args);
    va_end(args);
    assert_in_range(n, 1, 511);
}

static inline void temp_tree_write(const temp_tree *tree, const char *relative, const char *text)
{
    char path[512];
    temp_tree_path(tree, path, "%s", relative);
    for (char *slash = strchr(path + strlen(tree->root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0700); /* there already, or the open below fails */
        *slash = '/';
    }
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
    assert_int_equal(fclose(f), 0);
}

#endif
