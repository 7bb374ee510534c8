/* What the loader accepts and refuses, and with which words. */
#include "text_fixture.h"

static void assert_refused(const vocab_spec *spec, sumi_status status, const char *words[])
{
    sumi_gguf *g = open_vocab(spec);
    sumi_tokenizer *t = NULL;
    sumi_error err = { 0 };
    const sumi_status st = sumi_tokenizer_new(&t, g, &err);
    if (st != status) fail_msg("status %d (%s), expected %d", st, err.message, status);
    assert_null(t);
    for (; *words; words++)
        if (!strstr(err.message, *words)) fail_msg("\"%s\" does not say \"%s\"", err.message, *words);
    sumi_gguf_close(g);
}

#define REFUSED(status, words, ...) \
    assert_refused(&(vocab_spec){ __VA_ARGS__ }, status, (const char *[]){ words, NULL })
#define WORDS(...) __VA_ARGS__
#define LIST(...) \
    (const char *const[]) { __VA_ARGS__, NULL }

static void assert_loads(const vocab_spec *spec, const char *text, const int32_t *expected, int64_t n_expected)
{
    sumi_gguf *g = open_vocab(spec);
    sumi_tokenizer *t = new_tokenizer(g);
    int32_t *ids;
    int64_t n;
    const sumi_encode_options options = { .add_bos = true };
    assert_int_equal(sumi_tokenizer_encode(t, text, strlen(text), &options, &ids, &n, NULL), SUMI_OK);
    assert_ids(ids, n, expected, n_expected);
    free(ids);
    sumi_tokenizer_free(t);
    sumi_gguf_close(g);
}

#define LOADS(text, ids, ...) \
    assert_loads(&(vocab_spec){ __VA_ARGS__ }, text, (const int32_t[]){ ids }, sizeof((int32_t[]){ ids }) / 4)

static void models_and_pretokenizers(void **state)
{
    (void)state;
    REFUSED(SUMI_EFORMAT, WORDS("tokenizer.ggml.model"), .model = "-");
    REFUSED(SUMI_EUNSUPPORTED, WORDS("\"llama\"", "gpt2"), .model = "llama");
    REFUSED(SUMI_EUNSUPPORTED, WORDS("tokenizer.ggml.pre", "\"llama-bpe\"", "qwen2"), .pre = "llama-bpe");
    LOADS("abb", WORDS(2, 1), .pre = "qwen2");
    LOADS("abb", WORDS(2, 1), .pre = NULL);
}

static void token_arrays(void **state)
{
    (void)state;
    static const float floats[FIXTURE_TOKENS] = { 0 };
    static const uint8_t bytes[FIXTURE_TOKENS] = { 1, 1, 1, 3, 3, 4 };
    static const int64_t wide[FIXTURE_TOKENS] = { 1, 1, 1, 3, 3, 4 };
    static const int32_t bad[FIXTURE_TOKENS] = { 1, 1, 7, 3, 3, 4 };
    REFUSED(SUMI_EFORMAT, WORDS("tokenizer.ggml.tokens", "missing"), .no_tokens = true);
    REFUSED(SUMI_EFORMAT, WORDS("tokenizer.ggml.tokens", "strings"), .tokens_as_ints = true);
    REFUSED(SUMI_EFORMAT, WORDS("tokenizer.ggml.token_type", "5 elements", "6 tokens"), .types = bytes,
            .types_type = SUMI_GGUF_U8, .n_types = 5);
    REFUSED(SUMI_EFORMAT, WORDS("tokenizer.ggml.token_type", "integers"), .types = floats,
            .types_type = SUMI_GGUF_F32, .n_types = 6);
    REFUSED(SUMI_EFORMAT, WORDS("tokenizer.ggml.token_type", "7 at token 2"), .types = bad,
            .types_type = SUMI_GGUF_I32, .n_types = 6);
    REFUSED(SUMI_EFORMAT, WORDS("tokenizer.ggml.scores", "floats"), .scores = bytes, .scores_type = SUMI_GGUF_U8,
            .n_scores = 6);
    REFUSED(SUMI_EFORMAT, WORDS("tokenizer.ggml.scores", "4 elements", "6 tokens"), .scores = floats,
            .scores_type = SUMI_GGUF_F32, .n_scores = 4);
    LOADS("a<tool>b", WORDS(0, 5, 1), .types = bytes, .types_type = SUMI_GGUF_U8, .n_types = 6);
    LOADS("a<tool>b", WORDS(0, 5, 1), .types = wide, .types_type = SUMI_GGUF_I64, .n_types = 6);
}

static void merges(void **state)
{
    (void)state;
    REFUSED(SUMI_EFORMAT, WORDS("tokenizer.ggml.merges", "missing"), .no_merges = true);
    REFUSED(SUMI_EFORMAT, WORDS("tokenizer.ggml.merges", "strings"), .merges_as_ints = true);
    REFUSED(SUMI_EFORMAT, WORDS("merge 1 \"ab\"", "LEFT RIGHT"), .merges = LIST("a b", "ab"));
    REFUSED(SUMI_EFORMAT, WORDS("merge 0 \"a \"", "LEFT RIGHT"), .merges = LIST("a "));
    REFUSED(SUMI_EFORMAT, WORDS("merge 0 \" b\"", "LEFT RIGHT"), .merges = LIST(" b"));
    REFUSED(SUMI_EFORMAT, WORDS("merge 1 \"b a\"", "joined"), .merges = LIST("a b", "b a"));
    REFUSED(SUMI_EFORMAT, WORDS("merge 0 \"a xy\"", "RIGHT is not a token"), .merges = LIST("a xy"),
            .all_bytes = true);
    /* Without the byte alphabet a part that is no token is a placeholder's. */
    LOADS("ab", WORDS(2), .merges = LIST("x y", "a b"));
    /* Nothing grows in a circle: each result is longer than its parts, so these end. */
    LOADS("abab", WORDS(3), .tokens = LIST("a", "b", "ab", "abab"), .merges = LIST("a b", "ab ab"));
    /* Listed twice: the first rank counts, "b c" before "a b". */
    LOADS("abc", WORDS(0, 4), .tokens = LIST("a", "b", "c", "ab", "bc"), .merges = LIST("b c", "a b", "b c"));
    /* Equal ranks: leftmost first. */
    LOADS("aaa", WORDS(1, 0), .tokens = LIST("a", "aa"), .merges = LIST("a a"));
}

static void equal_tokens_are_found_by_the_first(void **state)
{
    (void)state;
    LOADS("ab", WORDS(2), .tokens = LIST("a", "b", "ab", "ab", "a"));
}

/* A control token may be spelled by merges; text still never becomes it. */
static void merges_cannot_make_control_tokens(void **state)
{
    (void)state;
    static const int32_t types[] = { 1, 1, 3 };
    LOADS("ab", WORDS(0, 1), .tokens = LIST("a", "b", "ab"), .types = types, .types_type = SUMI_GGUF_I32,
          .n_types = 3);
}

static void special_ids(void **state)
{
    (void)state;
    REFUSED(SUMI_EFORMAT, WORDS("tokenizer.ggml.bos_token_id", "id 6", "6 tokens"),
            .id_key = "tokenizer.ggml.bos_token_id", .id = 6);
    REFUSED(SUMI_EFORMAT, WORDS("tokenizer.ggml.eot_token_id", "id -1", "6 tokens"),
            .id_key = "tokenizer.ggml.eot_token_id", .id = -1);
    REFUSED(SUMI_EFORMAT, WORDS("tokenizer.ggml.padding_token_id", "id 4294967295"),
            .id_key = "tokenizer.ggml.padding_token_id", .id = 4294967295);
    REFUSED(SUMI_EFORMAT, WORDS("tokenizer.ggml.add_bos_token"), .add_bos = true);
    LOADS("a", WORDS(3, 0), .id_key = "tokenizer.ggml.bos_token_id", .id = 3, .add_bos = true);
    LOADS("a", WORDS(0), .id_key = "tokenizer.ggml.bos_token_id", .id = 3);
}

static void ends_of_generation(void **state)
{
    (void)state;
    sumi_gguf *g = open_vocab(&(vocab_spec){ .id_key = "tokenizer.ggml.eom_token_id", .id = 1 });
    sumi_tokenizer *t = new_tokenizer(g);
    const bool expected[FIXTURE_TOKENS] = { [1] = true, [4] = true }; /* by id, and <|im_end|> by name */
    for (int32_t id = -1; id <= FIXTURE_TOKENS; id++)
        assert_int_equal(sumi_tokenizer_is_eog(t, id), id >= 0 && id < FIXTURE_TOKENS && expected[id]);
    sumi_tokenizer_free(t);
    sumi_gguf_close(g);
}

static void a_byte_without_token_is_an_error(void **state)
{
    (void)state;
    sumi_gguf *g = open_vocab(&(vocab_spec){ 0 });
    sumi_tokenizer *t = new_tokenizer(g);
    const sumi_encode_options options = { 0 };
    sumi_error err = { 0 };
    int32_t *ids = NULL;
    int64_t n;
    assert_int_equal(sumi_tokenizer_encode(t, "ab\xe9", 3, &options, &ids, &n, &err), SUMI_EINVAL);
    assert_null(ids);
    assert_non_null(strstr(err.message, "0xe9"));
    sumi_tokenizer_free(t);
    sumi_gguf_close(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_and_pretokenizers),
        cmocka_unit_test(token_arrays),
        cmocka_unit_test(merges),
        cmocka_unit_test(equal_tokens_are_found_by_the_first),
        cmocka_unit_test(merges_cannot_make_control_tokens),
        cmocka_unit_test(special_ids),
        cmocka_unit_test(ends_of_generation),
        cmocka_unit_test(a_byte_without_token_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
