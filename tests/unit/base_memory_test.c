/* Available memory from made-up /proc and /sys trees. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/memory.h"
#include "temp_tree.h"

static uint64_t available(const temp_tree *tree)
{
    char sysfs[512], proc[512];
    temp_tree_path(tree, sysfs, "sys");
    temp_tree_path(tree, proc, "proc");
    return sumi_memory_available_bytes(sysfs, proc);
}

static void the_smallest_limit_counts(void **state)
{
    (void)state;
    temp_tree tree;
    temp_tree_init(&tree);
    assert_true(available(&tree) == UINT64_MAX); /* nothing is known */
    temp_tree_write(&tree, "proc/meminfo", "MemTotal: 900 kB\nMemAvailable:    800 kB\nCached: 5 kB\n");
    assert_int_equal(available(&tree), 800 * 1024);

    temp_tree_write(&tree, "sys/fs/cgroup/memory.max", "max\n");
    temp_tree_write(&tree, "sys/fs/cgroup/memory.current", "1000\n");
    assert_int_equal(available(&tree), 800 * 1024); /* no limit */
    temp_tree_write(&tree, "sys/fs/cgroup/memory.max", "50000\n");
    assert_int_equal(available(&tree), 49000);

    /* a file just read fills the group with cache, which gives way */
    temp_tree_write(&tree, "sys/fs/cgroup/memory.current", "50000\n");
    assert_int_equal(available(&tree), 0);
    temp_tree_write(&tree, "sys/fs/cgroup/memory.stat",
                    "anon 2000\nfile 48000\ninactive_file 40000\nactive_file 8000\n");
    assert_int_equal(available(&tree), 48000);
    temp_tree_write(&tree, "sys/fs/cgroup/memory.max", "20000\n"); /* lowered below the use */
    assert_int_equal(available(&tree), 18000);

    temp_tree_write(&tree, "sys/fs/cgroup/memory/memory.limit_in_bytes", "9000\n");
    temp_tree_write(&tree, "sys/fs/cgroup/memory/memory.usage_in_bytes", "7000\n");
    temp_tree_write(&tree, "sys/fs/cgroup/memory/memory.stat", "inactive_file 1\ntotal_inactive_file 500\n");
    assert_int_equal(available(&tree), 2500);
    temp_tree_deinit(&tree);
}

static void a_plan_that_cannot_fit_is_refused_with_both_numbers(void **state)
{
    (void)state;
    sumi_error err = { 0 };
    assert_int_equal(sumi_memory_check(1, &err, "plan"), SUMI_OK);
    if (sumi_memory_available_bytes("/sys", "/proc") == UINT64_MAX) skip();
    assert_int_equal(sumi_memory_check(UINT64_C(1) << 60, &err, "%s: weights", "model"), SUMI_ENOMEM);
    assert_non_null(strstr(err.message, "model: weights: needs 1152921504.61 GB, "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_smallest_limit_counts),
        cmocka_unit_test(a_plan_that_cannot_fit_is_refused_with_both_numbers),
    };
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
