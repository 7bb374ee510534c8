/* Error text: what a caller may print without looking at it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/status.h"

static void fills_status_and_message(void **state)
{
    (void)state;
    sumi_error err = { 0 };
    assert_int_equal(sumi_fail(&err, SUMI_EFORMAT, "tensor %s: %d rows, expected %d", "a.weight", 3, 4),
                     SUMI_EFORMAT);
    assert_int_equal(err.status, SUMI_EFORMAT);
    assert_string_equal(err.message, "tensor a.weight: 3 rows, expected 4");
}

static void accepts_no_error_struct(void **state)
{
    (void)state;
    assert_int_equal(sumi_fail(NULL, SUMI_EIO, "%s", "lost"), SUMI_EIO);
    assert_int_equal(sumi_fail_prefix(NULL, SUMI_ENOMEM, "%s", "lost"), SUMI_ENOMEM);
}

static void cuts_long_text(void **state)
{
    (void)state;
    char text[4 * sizeof((sumi_error *)0)->message];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    sumi_error err;
    memset(&err, 0x7e, sizeof err);
    sumi_fail(&err, SUMI_EINVAL, "%s", text);
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
    assert_int_equal(strspn(err.message, "x"), sizeof err.message - 1);
    sumi_fail_prefix(&err, SUMI_EINVAL, "file");
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
    assert_memory_equal(err.message, "file: xxx", 9);
    sumi_fail_prefix(&err, SUMI_EINVAL, "%s", text); /* no room beside such a prefix: the cause is what stays */
    assert_memory_equal(err.message, "file: xxx", 9);
}

static void replaces_control_bytes(void **state)
{
    (void)state;
    sumi_error err;
    sumi_fail(&err, SUMI_EFORMAT, "key %s",
              "a\x1b[2Jb\nc\td\x7f"
              "e\x01");
    assert_string_equal(err.message, "key a?[2Jb?c?d?e?");
    sumi_fail(&err, SUMI_EFORMAT, "key %s", "\xe5\xa2\xa8"); /* UTF-8 stays */
    assert_string_equal(err.message, "key \xe5\xa2\xa8");
    sumi_fail_prefix(&err, SUMI_EFORMAT, "a\rb");
    assert_string_equal(err.message, "a?b: key \xe5\xa2\xa8");
}

static void prefixes_nest(void **state)
{
    (void)state;
    sumi_error err;
    sumi_fail(&err, SUMI_EFORMAT, "truncated");
    assert_int_equal(sumi_fail_prefix(&err, SUMI_EFORMAT, "tensor %d", 7), SUMI_EFORMAT);
    assert_int_equal(sumi_fail_prefix(&err, SUMI_EFORMAT, "m.gguf"), SUMI_EFORMAT);
    assert_string_equal(err.message, "m.gguf: tensor 7: truncated");
    assert_int_equal(err.status, SUMI_EFORMAT);
}

static void every_status_has_its_name(void **state)
{
    (void)state;
    for (int a = SUMI_OK; a <= SUMI_ENUMERIC; a++) {
        assert_string_not_equal(sumi_status_name((sumi_status)a), "unknown status");
        for (int b = SUMI_OK; b < a; b++)
            assert_string_not_equal(sumi_status_name((sumi_status)a), sumi_status_name((sumi_status)b));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fills_status_and_message),
        cmocka_unit_test(accepts_no_error_struct),
        cmocka_unit_test(cuts_long_text),
        cmocka_unit_test(replaces_control_bytes),
        cmocka_unit_test(prefixes_nest),
        cmocka_unit_test(every_status_has_its_name),
    };
    return cmocka_run_group_tests_name("status", tests, NULL, NULL);
}
