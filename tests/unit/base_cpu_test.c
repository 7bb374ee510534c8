/* Default thread count on described machines. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <sched.h>
#include <stdbool.h>

#include "base/cpu.h"
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

static int32_t threads(const temp_tree *tree)
{
    char sysfs[512], proc[512];
    temp_tree_path(tree, sysfs, "sys");
    temp_tree_path(tree, proc, "proc");
    return sumi_cpu_default_threads(sysfs, proc);
}

static void set_affinity(const temp_tree *tree, const char *list)
{
    char text[256];
    snprintf(text, sizeof text, "Name:\ttest\nCpus_allowed:\tffff\nCpus_allowed_list:\t%s\nThreads:\t1\n", list);
    temp_tree_write(tree, "proc/thread-self/status", text);
}

static void set_cpu_number(const temp_tree *tree, int cpu, const char *file, long value)
{
    char path[256], text[32];
    snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%d/%s", cpu, file);
    snprintf(text, sizeof text, "%ld\n", value);
    temp_tree_write(tree, path, text);
}

/* CPUs first..last, one to a core, from core number first_core of the package. */
static void add_cores(const temp_tree *tree, int package, int first_core, int first, int last)
{
    for (int cpu = first; cpu <= last; cpu++) {
        set_cpu_number(tree, cpu, "topology/physical_package_id", package);
        set_cpu_number(tree, cpu, "topology/core_id", first_core + cpu - first);
    }
}

static void set_speed(const temp_tree *tree, const char *file, int first, int last, long value)
{
    for (int cpu = first; cpu <= last; cpu++) set_cpu_number(tree, cpu, file, value);
}

/* Two packages of four cores with two threads each; core numbers repeat between the packages. */
static void smt_counts_physical_cores(void **state)
{
    add_cores(*state, 0, 0, 0, 3);
    add_cores(*state, 1, 0, 4, 7);
    add_cores(*state, 0, 0, 8, 11);
    add_cores(*state, 1, 0, 12, 15);
    temp_tree_write(*state, "sys/devices/system/cpu/online", "0-15\n");
    set_affinity(*state, "0-15");
    assert_int_equal(threads(*state), 8);
    set_affinity(*state, "0,8"); /* both threads of one core */
    assert_int_equal(threads(*state), 1);
    set_affinity(*state, "0-3,12");
    assert_int_equal(threads(*state), 5);
}

static void clusters_with_repeating_core_ids_are_distinct(void **state)
{
    add_cores(*state, 0, 0, 0, 3);
    add_cores(*state, 0, 0, 4, 7);
    set_speed(*state, "topology/cluster_id", 0, 3, 0);
    set_speed(*state, "topology/cluster_id", 4, 7, 1);
    set_affinity(*state, "0-7");
    assert_int_equal(threads(*state), 8);
}

static void cpus_that_are_offline_do_not_count(void **state)
{
    set_affinity(*state, "0-127"); /* what a virtual machine with room for more reports */
    temp_tree_write(*state, "sys/devices/system/cpu/online", "0-2,7\n");
    assert_int_equal(threads(*state), 4);
}

static void hybrid_by_performance_core_list(void **state)
{
    add_cores(*state, 0, 0, 0, 7); /* 8 P cores, SMT as CPUs 8-15; then 12 E cores */
    add_cores(*state, 0, 0, 8, 15);
    add_cores(*state, 0, 8, 16, 27);
    temp_tree_write(*state, "sys/devices/cpu_core/cpus", "0-15\n");
    temp_tree_write(*state, "sys/devices/cpu_atom/cpus", "16-27\n");
    set_affinity(*state, "0-27");
    assert_int_equal(threads(*state), 8);
    set_affinity(*state, "16-19"); /* bound to E cores: they are what there is */
    assert_int_equal(threads(*state), 4);
}

static void hybrid_by_capacity_without_smt(void **state)
{
    add_cores(*state, 0, 0, 0, 19);
    set_speed(*state, "cpu_capacity", 0, 7, 1024);
    set_speed(*state, "cpu_capacity", 8, 19, 640);
    set_affinity(*state, "0-19");
    assert_int_equal(threads(*state), 8);
}

static void hybrid_by_frequency(void **state)
{
    add_cores(*state, 0, 0, 0, 19);
    set_speed(*state, "cpufreq/cpuinfo_max_freq", 0, 5, 5400000);
    set_speed(*state, "cpufreq/cpuinfo_max_freq", 6, 7, 5800000); /* two favoured cores: still one kind */
    set_speed(*state, "cpufreq/cpuinfo_max_freq", 8, 19, 4300000);
    set_affinity(*state, "0-19");
    assert_int_equal(threads(*state), 8);
}

static void one_missing_frequency_changes_nothing(void **state)
{
    set_speed(*state, "cpufreq/cpuinfo_max_freq", 0, 2, 4000000);
    set_speed(*state, "cpufreq/cpuinfo_max_freq", 3, 3, 1000000);
    set_affinity(*state, "0-4"); /* CPU 4 has no file */
    assert_int_equal(threads(*state), 5);
}

static void quota_version_2_rounds_down(void **state)
{
    set_affinity(*state, "0-15");
    temp_tree_write(*state, "proc/self/cgroup", "0::/user.slice/job\n");
    assert_int_equal(threads(*state), 16);
    temp_tree_write(*state, "sys/fs/cgroup/user.slice/job/cpu.max", "max 100000\n");
    assert_int_equal(threads(*state), 16);
    temp_tree_write(*state, "sys/fs/cgroup/user.slice/job/cpu.max", "390000 100000\n");
    assert_int_equal(threads(*state), 3);
    temp_tree_write(*state, "sys/fs/cgroup/user.slice/job/cpu.max", "150000 100000\n");
    assert_int_equal(threads(*state), 1);
    temp_tree_write(*state, "sys/fs/cgroup/user.slice/job/cpu.max", "20000 100000\n");
    assert_int_equal(threads(*state), 1);
}

static void quota_of_an_ancestor_holds(void **state)
{
    set_affinity(*state, "0-15");
    temp_tree_write(*state, "proc/self/cgroup", "0::/a/b/c\n");
    temp_tree_write(*state, "sys/fs/cgroup/a/b/c/cpu.max", "900000 100000\n");
    temp_tree_write(*state, "sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    temp_tree_write(*state, "sys/fs/cgroup/a/cpu.max", "250000 50000\n");
    assert_int_equal(threads(*state), 5);
    temp_tree_write(*state, "sys/fs/cgroup/cpu.max", "400000 100000\n"); /* a container's own mount */
    assert_int_equal(threads(*state), 4);
    temp_tree_write(*state, "proc/self/cgroup", "0::/../../elsewhere\n");
    assert_int_equal(threads(*state), 4);
}

static void quota_version_1(void **state)
{
    set_affinity(*state, "0-15");
    temp_tree_write(*state, "proc/self/cgroup",
                    "12:memory:/job\n7:cpuacct,cpu:/docker/42/job\n3:cpuset:/tight\n0::/\n");
    temp_tree_write(*state, "sys/fs/cgroup/cpu,cpuacct/docker/42/job/cpu.cfs_quota_us", "-1\n");
    temp_tree_write(*state, "sys/fs/cgroup/cpu,cpuacct/docker/42/job/cpu.cfs_period_us", "100000\n");
    temp_tree_write(*state, "sys/fs/cgroup/cpuset/tight/cpu.cfs_quota_us", "100000\n"); /* not the cpu hierarchy */
    temp_tree_write(*state, "sys/fs/cgroup/cpuset/tight/cpu.cfs_period_us", "100000\n");
    assert_int_equal(threads(*state), 16);
    temp_tree_write(*state, "sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_quota_us", "650000\n");
    temp_tree_write(*state, "sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_period_us", "100000\n");
    assert_int_equal(threads(*state), 6);
    temp_tree_write(*state, "sys/fs/cgroup/cpu,cpuacct/docker/42/job/cpu.cfs_quota_us", "150000\n");
    assert_int_equal(threads(*state), 1);
}

/* The quota is compared with cores, not with hardware threads. */
static void quota_and_cores_combine(void **state)
{
    add_cores(*state, 0, 0, 0, 3);
    add_cores(*state, 0, 0, 4, 7);
    set_affinity(*state, "0-7");
    temp_tree_write(*state, "proc/self/cgroup", "0::/\n");
    temp_tree_write(*state, "sys/fs/cgroup/cpu.max", "600000 100000\n");
    assert_int_equal(threads(*state), 4);
}

static void broken_files_are_ignored(void **state)
{
    set_affinity(*state, "0-3");
    temp_tree_write(*state, "sys/devices/system/cpu/online", "none\n");
    temp_tree_write(*state, "sys/devices/cpu_core/cpus", "9999999999\n");
    temp_tree_write(*state, "sys/devices/system/cpu/cpu0/topology/core_id", "\n");
    temp_tree_write(*state, "proc/self/cgroup", "nonsense\n\n::\n0:\n0::/\n");
    temp_tree_write(*state, "sys/fs/cgroup/cpu.max", "100000\n");
    assert_int_equal(threads(*state), 4);
    temp_tree_write(*state, "sys/fs/cgroup/cpu.max", "100000 0\n");
    assert_int_equal(threads(*state), 4);
}

/* Without any file only the system call is left: bound to one CPU it says one. */
static void affinity_system_call(void **state)
{
    cpu_set_t before, one;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    assert_int_equal(threads(*state), CPU_COUNT(&before));
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    const int32_t described = threads(*state), real = sumi_cpu_default_threads("/sys", "/proc");
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    assert_int_equal(described, 1);
    assert_int_equal(real, 1);
}

/* The compiler's own detection, which checks the operating system too, must agree. */
static void features_agree_with_the_compiler(void **state)
{
    (void)state;
    const uint32_t features = sumi_cpu_features();
#if defined(__x86_64__)
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512vnni");
    assert_int_equal(features, (avx2 ? SUMI_CPU_AVX2 : 0u) | (avx512 ? SUMI_CPU_AVX512 : 0u));
#elif defined(__aarch64__)
    assert_true(features & SUMI_CPU_NEON);
#else
    assert_int_equal(features, 0);
#endif
}

#define WITH_TREE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_TREE(smt_counts_physical_cores),
        WITH_TREE(clusters_with_repeating_core_ids_are_distinct),
        WITH_TREE(cpus_that_are_offline_do_not_count),
        WITH_TREE(hybrid_by_performance_core_list),
        WITH_TREE(hybrid_by_capacity_without_smt),
        WITH_TREE(hybrid_by_frequency),
        WITH_TREE(one_missing_frequency_changes_nothing),
        WITH_TREE(quota_version_2_rounds_down),
        WITH_TREE(quota_of_an_ancestor_holds),
        WITH_TREE(quota_version_1),
        WITH_TREE(quota_and_cores_combine),
        WITH_TREE(broken_files_are_ignored),
        WITH_TREE(affinity_system_call),
        cmocka_unit_test(features_agree_with_the_compiler),
    };
    return cmocka_run_group_tests_name("cpu", tests, NULL, NULL);
}
