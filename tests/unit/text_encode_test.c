/* Encoding and decoding with the demonstration model's vocabulary. */
#include "text_fixture.h"

#include <time.h>

static sumi_gguf *g;
static sumi_tokenizer *t;

static int set_up(void **state)
{
    (void)state;
    sumi_error err = { 0 };
    if (sumi_gguf_open(&g, DEMO_MODEL, SUMI_Q2_AUTO, &err)) fail_msg("%s", err.message);
    t = new_tokenizer(g);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sumi_tokenizer_free(t);
    sumi_gguf_close(g);
    return 0;
}

static char *read_file(const char *path, size_t *n_bytes)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    const long n = ftell(f);
    rewind(f);
    char *text = malloc((size_t)n + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)n, f), n);
    text[n] = 0;
    fclose(f);
    *n_bytes = (size_t)n;
    return text;
}

static int32_t *encode(const char *text, size_t n_bytes, bool parse_special, int64_t *n)
{
    const sumi_encode_options options = { .parse_special = parse_special };
    sumi_error err = { 0 };
    int32_t *ids = NULL;
    if (sumi_tokenizer_encode(t, text, n_bytes, &options, &ids, n, &err)) fail_msg("%s", err.message);
    return ids;
}

static void assert_round_trip(const char *text, size_t n_bytes)
{
    for (int special = 0; special < 2; special++) {
        int64_t n;
        int32_t *ids = encode(text, n_bytes, special, &n);
        size_t at = 0;
        for (int64_t i = 0; i < n; i++) {
            const sumi_str bytes = sumi_tokenizer_token_bytes(t, ids[i], true);
            assert_true(bytes.n_bytes > 0 && bytes.n_bytes <= n_bytes - at);
            assert_memory_equal(bytes.data, text + at, bytes.n_bytes);
            at += bytes.n_bytes;
        }
        assert_int_equal(at, n_bytes);
        free(ids);
    }
}

/* golden/tales-512.json holds the ids of the text's beginning, made by another tokenizer. */
static void the_evaluation_text_has_the_recorded_ids(void **state)
{
    (void)state;
    size_t n_text, n_json;
    char *text = read_file(SUMI_TEST_DATA "/tales-eval.txt", &n_text);
    char *json = read_file(SUMI_TEST_DATA "/golden/tales-512.json", &n_json);
    char *p = strstr(json, "\"tokens\": [");
    assert_non_null(p);
    p += strlen("\"tokens\": [");
    int64_t n, n_recorded = 0;
    int32_t *ids = encode(text, n_text, false, &n);
    for (char *end; n_recorded < n; p = end + 1) {
        assert_int_equal(ids[n_recorded++], strtol(p, &end, 10));
        if (*end == ']') break;
    }
    assert_int_equal(n_recorded, 512);
    assert_round_trip(text, n_text);
    free(ids);
    free(json);
    free(text);
}

static void any_bytes_survive(void **state)
{
    (void)state;
    uint64_t x = 0x9e3779b97f4a7c15u;
    for (int round = 0; round < 2000; round++) {
        char text[300];
        const size_t n = (size_t)(round % 300);
        for (size_t i = 0; i < n; i++) {
            x = x * 6364136223846793005u + 1442695040888963407u;
            /* half of the rounds mostly ASCII, so that merges and bad bytes meet */
            text[i] = (char)(round % 2 && x >> 61 ? 0x20 + (x >> 33) % 0x5f : x >> 40);
        }
        assert_round_trip(text, n);
    }
    assert_round_trip("\0\0a\0", 4);
    for (int byte = 0; byte < 256; byte++) assert_round_trip((const char[]){ (char)byte }, 1);
}

static void runs_of_spaces_survive(void **state)
{
    (void)state;
    char spaces[300];
    memset(spaces, ' ', sizeof spaces);
    for (size_t n = 0; n <= sizeof spaces; n++) assert_round_trip(spaces, n);
}

static void control_tokens_come_only_on_request(void **state)
{
    (void)state;
    static const char text[] = "x<|im_end|>\n<|im_start|><|im_";
    const int32_t start = sumi_tokenizer_find(t, "<|im_start|>", 12), end = sumi_tokenizer_find(t, "<|im_end|>", 10);
    assert_true(start >= 0 && end >= 0 && sumi_tokenizer_is_control(t, start));
    int64_t n;
    int32_t *ids = encode(text, sizeof text - 1, false, &n);
    for (int64_t i = 0; i < n; i++) assert_false(sumi_tokenizer_is_control(t, ids[i]));
    free(ids);
    ids = encode(text, sizeof text - 1, true, &n);
    assert_int_equal(ids[1], end);
    assert_int_equal(ids[3], start);
    for (int64_t i = 4; i < n; i++) assert_false(sumi_tokenizer_is_control(t, ids[i]));
    free(ids);
    assert_int_equal(sumi_tokenizer_token_bytes(t, end, false).n_bytes, 0);
    assert_int_equal(sumi_tokenizer_token_bytes(t, end, true).n_bytes, 10);
    assert_int_equal(sumi_tokenizer_token_bytes(t, -1, true).n_bytes, 0);
    assert_int_equal(sumi_tokenizer_token_bytes(t, sumi_tokenizer_n_vocab(t), true).n_bytes, 0);
}

static void every_token_but_control_has_text(void **state)
{
    (void)state;
    for (int32_t id = 0; id < sumi_tokenizer_n_vocab(t); id++)
        assert_int_equal(sumi_tokenizer_token_bytes(t, id, false).n_bytes == 0, sumi_tokenizer_is_control(t, id));
}

static void no_text_has_no_tokens(void **state)
{
    (void)state;
    int64_t n;
    int32_t *ids = encode("", 0, true, &n);
    assert_int_equal(n, 0);
    free(ids);
}

/* The least of three CPU times of one pre-token of n times the same merging pair. */
static double seconds_to_encode(size_t n_bytes)
{
    char *text = malloc(n_bytes);
    assert_non_null(text);
    for (size_t i = 0; i < n_bytes; i++) text[i] = "the"[i % 3];
    double best = 1e9;
    for (int i = 0; i < 3; i++) {
        int64_t n;
        const clock_t begin = clock();
        free(encode(text, n_bytes, true, &n));
        const double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
        if (seconds < best) best = seconds;
    }
    free(text);
    return best;
}

/* Sixteen times the text: 16 to 25 times the work when n log n, 256 times when quadratic. */
static void one_long_word_is_not_quadratic(void **state)
{
    (void)state;
    const double small = seconds_to_encode(1 << 16), large = seconds_to_encode(1 << 20);
    if (large > 80 * small) fail_msg("64 KiB: %.4f s, 1 MiB: %.4f s", small, large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_evaluation_text_has_the_recorded_ids),
        cmocka_unit_test(any_bytes_survive),
        cmocka_unit_test(runs_of_spaces_survive),
        cmocka_unit_test(control_tokens_come_only_on_request),
        cmocka_unit_test(every_token_but_control_has_text),
        cmocka_unit_test(no_text_has_no_tokens),
        cmocka_unit_test(one_long_word_is_not_quadratic),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
