/* Size arithmetic at its limits: a result that does not fit is refused and *out stays as it was. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/checked.h"

static const uint64_t untouched = 0x5eed;

static void products(void **state)
{
    (void)state;
    uint64_t out = untouched;
    assert_true(sumi_mul_u64(UINT64_C(1) << 32, (UINT64_C(1) << 32) - 1, &out));
    assert_true(out == 0xffffffff00000000u);
    assert_true(sumi_mul_u64(UINT64_MAX, 1, &out));
    assert_true(out == UINT64_MAX);
    assert_true(sumi_mul_u64(UINT64_MAX, 0, &out));
    assert_true(out == 0);
    out = untouched;
    assert_false(sumi_mul_u64(UINT64_C(1) << 32, UINT64_C(1) << 32, &out));
    assert_false(sumi_mul_u64(UINT64_MAX / 3 + 1, 3, &out));
    assert_true(out == untouched);
}

static void sums(void **state)
{
    (void)state;
    uint64_t out = untouched;
    assert_true(sumi_add_u64(UINT64_MAX - 7, 7, &out));
    assert_true(out == UINT64_MAX);
    out = untouched;
    assert_false(sumi_add_u64(UINT64_MAX, 1, &out));
    assert_false(sumi_add_u64(UINT64_C(1) << 63, UINT64_C(1) << 63, &out));
    assert_true(out == untouched);
}

static void alignment(void **state)
{
    (void)state;
    static const struct {
        uint64_t value, alignment, aligned;
    } cases[] = { { 0, 32, 0 },   { 1, 32, 32 },       { 32, 32, 32 },
                  { 33, 32, 64 }, { 12345, 1, 12345 }, { UINT64_MAX - 63, 64, UINT64_MAX - 63 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t out = untouched;
        assert_true(sumi_align_u64(cases[i].value, cases[i].alignment, &out));
        assert_true(out == cases[i].aligned);
    }
    uint64_t out = untouched;
    assert_false(sumi_align_u64(UINT64_MAX - 62, 64, &out));
    assert_false(sumi_align_u64(UINT64_MAX, 2, &out));
    assert_true(out == untouched);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(products), cmocka_unit_test(sums),
                                        cmocka_unit_test(alignment) };
    return cmocka_run_group_tests_name("checked", tests, NULL, NULL);
}
