/* Where each pre-tokenizer cuts. Pieces are shown separated by '|'. */
#include "text_fixture.h"

#include "text/pretokenize.h"

static void assert_pieces(const char *name, const char *text, size_t n_bytes, const char *expected)
{
    sumi_pretokenizer *p = NULL;
    sumi_pieces pieces = { 0 };
    assert_int_equal(sumi_pretokenizer_new(&p, (sumi_str){ name, strlen(name) }, NULL), SUMI_OK);
    assert_int_equal(sumi_pretokenize(p, text, n_bytes, &pieces, NULL), SUMI_OK);
    char shown[512];
    size_t n = 0, begin = 0;
    for (size_t i = 0; i < pieces.n; i++) {
        assert_true(pieces.data[i] > begin && pieces.data[i] <= n_bytes);
        if (i > 0) shown[n++] = '|';
        memcpy(shown + n, text + begin, pieces.data[i] - begin);
        n += pieces.data[i] - begin;
        begin = pieces.data[i];
    }
    shown[n] = 0;
    assert_int_equal(begin, n_bytes);
    assert_string_equal(shown, expected);
    free(pieces.data);
    sumi_pretokenizer_free(p);
}

#define CUTS(name, text, expected) assert_pieces(name, text, sizeof(text) - 1, expected)

static void qwen2(void **state)
{
    (void)state;
    CUTS("qwen2", "Hello, it's  1234 o'clock", "Hello|,| it|'s| | |1|2|3|4| o|'clock");
    CUTS("qwen2", "IT'S!\r\n\n  x\t", "IT|'S|!\r\n\n| | x|\t");
    CUTS("qwen2", "a   \n b", "a|   \n| b");
    CUTS("qwen2", "\xc3\x84pfel \xe6\xbc\xa2\xe5\xad\x97\xf0\x9f\x98\x80",
         "\xc3\x84pfel| \xe6\xbc\xa2\xe5\xad\x97|\xf0\x9f\x98\x80");
    CUTS("qwen2",
         "a\xe1\xa0\x8e"
         "b",
         "a|\xe1\xa0\x8e"
         "b"); /* U+180E is no white space */
}

static void gpt2(void **state)
{
    (void)state;
    CUTS("gpt-2", "It's 1234 IT'S\n\n x", "It|'s| 1234| IT|'|S|\n\n| x");
}

/* Punctuation is cut off first, and numbers in threes last. */
static void default_rules(void **state)
{
    (void)state;
    CUTS("default", "it's 1234567!?", "it|'|s| |123|456|7|!?");
    CUTS("default", "a+b  c", "a|+|b| | c");
}

static void invalid_bytes_are_pieces(void **state)
{
    (void)state;
    CUTS("qwen2",
         "ab\xff\xfe"
         "cd \xe2\x82",
         "ab|\xff\xfe|cd| |\xe2\x82");
    CUTS("default", "\x80", "\x80");
    CUTS("qwen2", "", "");
}

static void unknown_name_is_refused(void **state)
{
    (void)state;
    sumi_pretokenizer *p = NULL;
    sumi_error err = { 0 };
    assert_int_equal(sumi_pretokenizer_new(&p, (sumi_str){ "qwen", 4 }, &err), SUMI_EUNSUPPORTED);
    assert_null(p);
    assert_non_null(strstr(err.message, "\"qwen\""));
    assert_non_null(strstr(err.message, "qwen2, gpt-2, default"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(qwen2),
        cmocka_unit_test(gpt2),
        cmocka_unit_test(default_rules),
        cmocka_unit_test(invalid_bytes_are_pieces),
        cmocka_unit_test(unknown_name_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
