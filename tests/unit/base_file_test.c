/* File mapping: what is refused, with which reason, and that a mapping survives. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/file.h"
#include "temp_tree.h"

static int setup(void **state)
{
    temp_tree *tree = malloc(sizeof *tree);
    if (!tree) return -1;
    temp_tree_init(tree);
    *state = tree;
    return 0;
}

static int teardown(void **state)
{
    temp_tree_deinit(*state);
    free(*state);
    return 0;
}

static void assert_refused(const char *path, const char *reason)
{
    sumi_file file = { 0 };
    sumi_error err = { 0 };
    assert_int_equal(sumi_file_map(&file, path, &err), SUMI_EIO);
    assert_int_equal(err.status, SUMI_EIO);
    assert_memory_equal(err.message, path, strlen(path));
    assert_non_null(strstr(err.message, reason));
    assert_null(file.data);
    assert_int_equal(file.size_bytes, 0);
    sumi_file_unmap(&file);
}

static void refuses_what_is_not_a_regular_file(void **state)
{
    char path[512];
    temp_tree_path(*state, path, "missing.gguf");
    assert_refused(path, "No such file");
    temp_tree_path(*state, path, "fifo");
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_refused(path, "not a regular file"); /* and at once: nobody writes to it */
    temp_tree_path(*state, path, "folder");
    assert_int_equal(mkdir(path, 0700), 0);
    assert_refused(path, "is a directory");
}

static void refuses_a_file_without_permission(void **state)
{
    if (geteuid() == 0) skip(); /* root reads everything */
    char path[512];
    temp_tree_write(*state, "secret", "x");
    temp_tree_path(*state, path, "secret");
    assert_int_equal(chmod(path, 0), 0);
    assert_refused(path, "Permission denied");
}

static void maps_an_empty_file(void **state)
{
    char path[512];
    temp_tree_write(*state, "empty", "");
    temp_tree_path(*state, path, "empty");
    sumi_file file = { 0 };
    assert_int_equal(sumi_file_map(&file, path, NULL), SUMI_OK);
    assert_non_null(file.data);
    assert_int_equal(file.size_bytes, 0);
    sumi_file_unmap(&file);
    assert_null(file.data);
}

static void forgotten_pages_stay_readable(void **state)
{
    enum { SIZE = 50001 };
    char text[SIZE + 1], path[512];
    for (size_t i = 0; i < SIZE; i++) text[i] = (char)('a' + i % 23);
    text[SIZE] = 0;
    temp_tree_write(*state, "data", text);
    temp_tree_path(*state, path, "data");
    sumi_file file = { 0 };
    assert_int_equal(sumi_file_map(&file, path, NULL), SUMI_OK);
    assert_int_equal(file.size_bytes, SIZE);
    assert_memory_equal(file.data, text, SIZE);
    sumi_file_forget(&file, 0, SIZE);
    sumi_file_forget(&file, 5000, 9000);
    sumi_file_forget(&file, 100, 1);
    assert_memory_equal(file.data, text, SIZE);
    sumi_file_unmap(&file);
    assert_null(file.data);
    assert_int_equal(file.size_bytes, 0);
    sumi_file_unmap(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(refuses_what_is_not_a_regular_file, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_a_file_without_permission, setup, teardown),
        cmocka_unit_test_setup_teardown(maps_an_empty_file, setup, teardown),
        cmocka_unit_test_setup_teardown(forgotten_pages_stay_readable, setup, teardown),
    };
    return cmocka_run_group_tests_name("file", tests, NULL, NULL);
}
