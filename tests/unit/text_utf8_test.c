/* The stream gives whole characters, whatever way the bytes are cut. */
#include "text_fixture.h"

static size_t push(sumi_utf8_stream *s, const char *bytes, size_t n, bool flush, char *dst)
{
    return sumi_utf8_push(s, (const uint8_t *)bytes, n, flush, dst);
}

static void assert_stream(const char *in, size_t n_in, const char *expected)
{
    /* Whole, and in two and three pieces at every place. */
    for (size_t i = 0; i <= n_in; i++)
        for (size_t j = i; j <= n_in; j++) {
            sumi_utf8_stream s = { 0 };
            char out[256];
            size_t n = push(&s, in, i, false, out);
            n += push(&s, in + i, j - i, false, out + n);
            n += push(&s, in + j, n_in - j, true, out + n);
            assert_int_equal(n, strlen(expected));
            assert_memory_equal(out, expected, n);
            assert_int_equal(s.n_pending, 0);
        }
}

static void valid_text_is_unchanged(void **state)
{
    (void)state;
    const char *text = "a\xc3\xa9 \xe6\xbc\xa2\xe5\xad\x97 \xf0\x9f\x98\x80 \xf4\x8f\xbf\xbf\xee\x80\x80 z";
    assert_stream(text, strlen(text), text);
}

/* Expected: one U+FFFD per maximal subpart, the examples of the Unicode standard, tables 3-8 to 3-11. */
static void invalid_bytes_are_replaced(void **state)
{
    (void)state;
#define R "\xef\xbf\xbd"
    assert_stream("\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41", 9, R R R R R R R R "A");
    assert_stream("\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41", 9, R R R R R R R R "A");
    assert_stream("\xf4\x91\x92\x93\xff\x41\x80\xbf\x42", 9, R R R R R "A" R R "B");
    assert_stream("\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", 9, R R R R "A");
}

static void an_unfinished_tail_waits_for_flush(void **state)
{
    (void)state;
    sumi_utf8_stream s = { 0 };
    char out[32];
    assert_int_equal(push(&s, "x\xf0\x9f\x98", 4, false, out), 1);
    assert_int_equal(s.n_pending, 3);
    assert_int_equal(push(&s, "", 0, false, out), 0);
    assert_int_equal(push(&s, "", 0, true, out), 3);
    assert_memory_equal(out, R, 3);
    assert_int_equal(push(&s, "", 0, true, out), 0);
}

static void nul_is_a_character(void **state)
{
    (void)state;
    sumi_utf8_stream s = { 0 };
    char out[32];
    assert_int_equal(push(&s, "a\0b", 3, false, out), 3);
    assert_memory_equal(out, "a\0b", 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(valid_text_is_unchanged),
        cmocka_unit_test(invalid_bytes_are_replaced),
        cmocka_unit_test(an_unfinished_tail_waits_for_flush),
        cmocka_unit_test(nul_is_a_character),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
