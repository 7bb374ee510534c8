/* sumi_file_info: values as JSON text to the letter, hostile bytes, the demonstration model, damaged files. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "alloc_meter.h"
#include "gguf_bytes.h"
#include "sumi.h"

#include <math.h>
#include <time.h>

#define DEMO_MODEL SUMI_MODELS "/sumi-tales-40m-q1_0.gguf"
#define REPLACEMENT "\xef\xbf\xbd"

static char path[] = "/tmp/sumi-file-info-XXXXXX";

static sumi_file_info *open_file(const char *file)
{
    sumi_error err = { 0 };
    sumi_file_info *info = NULL;
    if (sumi_file_info_open(&info, file, &err)) fail_msg("%s", err.message);
    assert_non_null(info);
    return info;
}

static sumi_file_info *open_blob(blob *b)
{
    assert_true(blob_save(b, path));
    blob_free(b);
    return open_file(path);
}

static void assert_key(const sumi_file_info *info, int64_t i, int64_t max_elements, const char *name,
                       const char *expected)
{
    const char *have;
    char *json;
    assert_int_equal(sumi_file_info_key(info, i, max_elements, &have, &json, NULL), SUMI_OK);
    assert_string_equal(have, name);
    assert_string_equal(json, expected);
    free(json);
}

/* ---- Values ----------------------------------------------------------------------------------------- */

typedef struct scalar_case {
    uint32_t type;
    uint64_t bits;
    size_t n_bytes;
    const char *json;
} scalar_case;

static uint64_t f32(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}
static uint64_t f64(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static void scalars(void **state)
{
    (void)state;
    const scalar_case cases[] = {
        { SUMI_GGUF_U8, 255, 1, "255" },
        { SUMI_GGUF_I8, 0x80, 1, "-128" },
        { SUMI_GGUF_U16, 65535, 2, "65535" },
        { SUMI_GGUF_I16, 0x8000, 2, "-32768" },
        { SUMI_GGUF_U32, UINT32_MAX, 4, "4294967295" },
        { SUMI_GGUF_I32, 0x80000000, 4, "-2147483648" },
        { SUMI_GGUF_U64, UINT64_MAX, 8, "18446744073709551615" },
        { SUMI_GGUF_I64, (uint64_t)INT64_MIN, 8, "-9223372036854775808" },
        { SUMI_GGUF_BOOL, 0, 1, "false" },
        { SUMI_GGUF_BOOL, 1, 1, "true" },
        { SUMI_GGUF_F32, f32(10000.0f), 4, "10000.0" },
        { SUMI_GGUF_F32, f32(1e-6f), 4, "1e-06" },
        { SUMI_GGUF_F32, f32(1e6f), 4, "1e+06" },
        { SUMI_GGUF_F32, f32(0.1f), 4, "0.1" },
        { SUMI_GGUF_F32, f32(1.0f / 3), 4, "0.33333334" },
        { SUMI_GGUF_F32, f32(16777213.0f), 4, "16777213.0" },
        { SUMI_GGUF_F32, f32(3.40282347e38f), 4, "3.4028235e+38" },
        { SUMI_GGUF_F32, 1, 4, "1.4013e-45" },
        { SUMI_GGUF_F32, f32(-0.0f), 4, "-0.0" },
        { SUMI_GGUF_F32, f32(NAN), 4, "null" },
        { SUMI_GGUF_F32, f32(-INFINITY), 4, "null" },
        { SUMI_GGUF_F64, f64(0.1), 8, "0.1" },
        { SUMI_GGUF_F64, f64(1.0 / 3), 8, "0.3333333333333333" },
        { SUMI_GGUF_F64, f64(9007199254740991.0), 8, "9007199254740991.0" },
        { SUMI_GGUF_F64, f64(-1.7976931348623157e308), 8, "-1.7976931348623157e+308" },
        { SUMI_GGUF_F64, f64(INFINITY), 8, "null" },
        { SUMI_GGUF_F64, f64(NAN), 8, "null" },
    };
    enum { N = sizeof cases / sizeof cases[0] };
    blob b = { 0 };
    char name[16];
    blob_header(&b, 3, 0, N);
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "key.%d", i);
        blob_key(&b, name, cases[i].type, cases[i].bits, cases[i].n_bytes);
    }
    sumi_file_info *info = open_blob(&b);
    assert_int_equal(sumi_file_info_n_keys(info), N);
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "key.%d", i);
        assert_key(info, i, 0, name, cases[i].json); /* the limit is for arrays only */
    }
    sumi_file_info_close(info);
}

static void put_text_key(blob *b, const char *name, const char *bytes, size_t n_bytes)
{
    blob_string(b, name);
    blob_int(b, SUMI_GGUF_STRING, 4);
    blob_int(b, n_bytes, 8);
    blob_put(b, bytes, n_bytes);
}

typedef struct text_case {
    const char *bytes;
    size_t n_bytes;
    const char *json;
} text_case;

static void strings(void **state)
{
    (void)state;
#define CASE(bytes, json)             \
    {                                 \
        bytes, sizeof bytes - 1, json \
    }
    static const text_case cases[] = {
        CASE("", "\"\""),
        CASE("say \"hi\" \\ /", "\"say \\\"hi\\\" \\\\ /\""),
        CASE("\n\r\t\x01\x1f\x7f", "\"\\n\\r\\t\\u0001\\u001f\\u007f\""),
        CASE("a\0b", "\"a\\u0000b\""),
        CASE("\xc3\xa9\xe2\x82\xac\xf0\x9f\x96\x8b", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x96\x8b\""),
        CASE("\xff", "\"" REPLACEMENT "\""),
        CASE("a\x80\xbf z", "\"a" REPLACEMENT REPLACEMENT " z\""),
        CASE("\xe2\x82", "\"" REPLACEMENT "\""),                             /* cut inside a character */
        CASE("\xe2\x82\"", "\"" REPLACEMENT "\\\"\""),                       /* a quote ends it, and is escaped */
        CASE("\xc0\xaf", "\"" REPLACEMENT REPLACEMENT "\""),                 /* overlong */
        CASE("\xed\xa0\x80", "\"" REPLACEMENT REPLACEMENT REPLACEMENT "\""), /* a surrogate */
    };
#undef CASE
    enum { N = sizeof cases / sizeof cases[0] };
    blob b = { 0 };
    char name[16];
    blob_header(&b, 2, 0, N);
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "key.%d", i);
        put_text_key(&b, name, cases[i].bytes, cases[i].n_bytes);
    }
    sumi_file_info *info = open_blob(&b);
    assert_int_equal(sumi_file_info_version(info), 2);
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "key.%d", i);
        assert_key(info, i, -1, name, cases[i].json);
    }
    sumi_file_info_close(info);
}

/* The whole text: well-formed UTF-8 without raw control characters, one string from quote to quote. */
static bool is_json_string(const char *text)
{
    const uint8_t *p = (const uint8_t *)text;
    if (*p++ != '"') return false;
    while (*p && *p != '"') {
        if (*p < 0x20) return false;
        int n_more = *p < 0x80 ? 0 : *p >= 0xf0 && *p <= 0xf4 ? 3 : *p >= 0xe0 ? 2 : *p >= 0xc2 ? 1 : -1;
        if (n_more < 0 || *p > 0xf4) return false;
        if (*p == '\\' && !*++p) return false;
        for (p++; n_more > 0; n_more--)
            if ((*p++ & 0xc0) != 0x80) return false;
    }
    return p[0] == '"' && p[1] == 0;
}

static void any_bytes_give_a_json_string(void **state)
{
    (void)state;
    enum { N = 4000 };
    uint32_t seed = 7;
    blob b = { 0 };
    blob_header(&b, 3, 0, N);
    for (int i = 0; i < N; i++) {
        char name[16], bytes[24];
        snprintf(name, sizeof name, "k%d", i);
        for (size_t j = 0; j < sizeof bytes; j++) {
            seed = seed * 1664525 + 1013904223;
            /* Mostly the bytes that begin and continue characters. */
            bytes[j] = (char)(seed >> 30 ? 0x80 | seed >> 16 : seed >> 16);
        }
        put_text_key(&b, name, bytes, (size_t)i % sizeof bytes);
    }
    sumi_file_info *info = open_blob(&b);
    for (int i = 0; i < N; i++) {
        const char *name;
        char *json;
        assert_int_equal(sumi_file_info_key(info, i, -1, &name, &json, NULL), SUMI_OK);
        if (!is_json_string(json)) fail_msg("key %d: %s", i, json);
        free(json);
    }
    sumi_file_info_close(info);
}

static void put_array_header(blob *b, const char *name, uint32_t element_type, uint64_t n)
{
    blob_string(b, name);
    blob_int(b, SUMI_GGUF_ARRAY, 4);
    blob_int(b, element_type, 4);
    blob_int(b, n, 8);
}

static void arrays(void **state)
{
    (void)state;
    blob b = { 0 };
    blob_header(&b, 3, 0, 5);
    put_array_header(&b, "ints", SUMI_GGUF_I16, 3);
    for (int i = -1; i < 2; i++) blob_int(&b, (uint64_t)i, 2);
    put_array_header(&b, "texts", SUMI_GGUF_STRING, 3);
    blob_string(&b, "a");
    blob_string(&b, "");
    blob_string(&b, "c\"");
    put_array_header(&b, "empty", SUMI_GGUF_STRING, 0);
    put_array_header(&b, "floats", SUMI_GGUF_F32, 2);
    blob_int(&b, f32(NAN), 4);
    blob_int(&b, f32(0.5f), 4);
    put_array_header(&b, "large", SUMI_GGUF_U64, 2);
    blob_int(&b, UINT64_MAX, 8);
    blob_int(&b, 1, 8);
    sumi_file_info *info = open_blob(&b);
    assert_key(info, 0, -1, "ints", "[-1, 0, 1]");
    assert_key(info, 0, 3, "ints", "[-1, 0, 1]");
    assert_key(info, 0, 2, "ints", "[-1, 0, ...]");
    assert_key(info, 0, 0, "ints", "[...]");
    assert_key(info, 0, INT64_MAX, "ints", "[-1, 0, 1]");
    assert_key(info, 1, -1, "texts", "[\"a\", \"\", \"c\\\"\"]");
    assert_key(info, 1, 1, "texts", "[\"a\", ...]");
    assert_key(info, 2, 0, "empty", "[]");
    assert_key(info, 3, -1, "floats", "[null, 0.5]");
    assert_key(info, 4, -1, "large", "[18446744073709551615, 1]");
    sumi_file_info_close(info);
}

/* Names are C strings in UTF-8 whatever the file holds. */
static void names_are_utf8(void **state)
{
    (void)state;
    blob b = { 0 };
    blob_header(&b, 3, 1, 1);
    blob_key(&b, "caf\xe9.n", SUMI_GGUF_U8, 1, 1);
    blob_tensor(&b, "t\xff", 2, 3, 0, 0);
    blob_align(&b, 32);
    blob_zeros(&b, 24);
    sumi_file_info *info = open_blob(&b);
    assert_key(info, 0, -1, "caf" REPLACEMENT ".n", "1");
    sumi_tensor_info t;
    assert_int_equal(sumi_file_info_tensor(info, 0, &t, NULL), SUMI_OK);
    assert_string_equal(t.name, "t" REPLACEMENT);
    sumi_file_info_close(info);
}

/* ---- Tensors ---------------------------------------------------------------------------------------- */

static void tensors_that_cannot_run_are_listed(void **state)
{
    (void)state;
    blob b = { 0 };
    blob_header(&b, 3, 2, 0);
    blob_tensor(&b, "iq", 256, 2, 23, 0);    /* IQ4_XS: known by name only */
    blob_tensor(&b, "q1", 256, 4, 41, 1024); /* 8 blocks of 18 bytes */
    blob_align(&b, 32);
    const size_t data = b.n;
    blob_zeros(&b, 1024 + 144);
    sumi_file_info *info = open_blob(&b);
    sumi_tensor_info t;
    assert_int_equal(sumi_file_info_n_tensors(info), 2);
    assert_int_equal(sumi_file_info_tensor(info, 0, &t, NULL), SUMI_OK);
    assert_string_equal(t.type_name, "IQ4_XS");
    assert_int_equal(t.n_bytes, 0);
    assert_int_equal(sumi_file_info_tensor(info, 1, &t, NULL), SUMI_OK);
    assert_string_equal(t.name, "q1");
    assert_string_equal(t.type_name, "Q1_0");
    assert_int_equal(t.n_dims, 2);
    assert_int_equal(t.dims[0], 256);
    assert_int_equal(t.dims[1], 4);
    assert_int_equal(t.dims[2], 1);
    assert_int_equal(t.offset_bytes, data + 1024);
    assert_int_equal(t.n_bytes, 144);
    assert_int_equal(sumi_file_info_size_bytes(info), data + 1024 + 144);
    sumi_file_info_close(info);
}

static void demonstration_model(void **state)
{
    (void)state;
    sumi_file_info *info = open_file(DEMO_MODEL);
    assert_int_equal(sumi_file_info_version(info), 3);
    assert_int_equal(sumi_file_info_size_bytes(info), 5803904);
    assert_int_equal(sumi_file_info_n_keys(info), 25);
    assert_int_equal(sumi_file_info_n_tensors(info), 134);
    assert_key(info, 0, -1, "general.architecture", "\"qwen3\"");
    assert_key(info, 12, -1, "qwen3.rope.freq_base", "10000.0");
    assert_key(info, 13, -1, "qwen3.attention.layer_norm_rms_epsilon", "1e-06");
    assert_key(info, 16, 3, "tokenizer.ggml.tokens", "[\"!\", \"\\\"\", \"#\", ...]");
    assert_key(info, 18, 2, "tokenizer.ggml.merges", "[\"h e\", \"\xc4\xa0 t\", ...]");
    assert_key(info, 23, -1, "tokenizer.ggml.add_bos_token", "false");
    uint64_t n_bytes = 0;
    for (int64_t i = 0; i < 134; i++) {
        sumi_tensor_info t;
        assert_int_equal(sumi_file_info_tensor(info, i, &t, NULL), SUMI_OK);
        assert_true(t.offset_bytes + t.n_bytes <= sumi_file_info_size_bytes(info));
        n_bytes += t.n_bytes;
    }
    assert_true(n_bytes <= 5803904 - 137088); /* behind the directory, with nothing but padding between */
    assert_true(n_bytes > 5803904 - 137088 - 134 * 32);
    sumi_tensor_info last;
    assert_int_equal(sumi_file_info_tensor(info, 133, &last, NULL), SUMI_OK);
    assert_string_equal(last.name, "blk.11.ffn_down.weight");
    assert_string_equal(last.type_name, "Q1_0");
    assert_int_equal(last.n_bytes, 1536 / 128 * 18 * 512);
    assert_int_equal(last.offset_bytes, 137088 + 5556224);
    sumi_file_info_close(info);
}

/* ---- Refusals --------------------------------------------------------------------------------------- */

static void wrong_arguments(void **state)
{
    (void)state;
    sumi_error err;
    sumi_file_info *info = (void *)path;
    assert_int_equal(sumi_file_info_open(NULL, DEMO_MODEL, &err), SUMI_EINVAL);
    assert_int_equal(sumi_file_info_open(&info, NULL, &err), SUMI_EINVAL);
    assert_null(info);
    sumi_file_info_close(NULL);
    assert_int_equal(sumi_file_info_n_keys(NULL), 0);
    info = open_file(DEMO_MODEL);
    const char *name = "x";
    char *json = path;
    assert_int_equal(sumi_file_info_key(NULL, 0, -1, &name, &json, &err), SUMI_EINVAL);
    assert_int_equal(sumi_file_info_key(info, 0, -1, NULL, &json, &err), SUMI_EINVAL);
    assert_int_equal(sumi_file_info_key(info, 0, -1, &name, NULL, NULL), SUMI_EINVAL);
    assert_int_equal(sumi_file_info_key(info, -1, -1, &name, &json, &err), SUMI_EINVAL);
    assert_int_equal(sumi_file_info_key(info, 25, -1, &name, &json, &err), SUMI_EINVAL);
    assert_null(name);
    assert_null(json);
    assert_non_null(strstr(err.message, "key 25 of 25"));
    sumi_tensor_info t;
    assert_int_equal(sumi_file_info_tensor(NULL, 0, &t, &err), SUMI_EINVAL);
    assert_int_equal(sumi_file_info_tensor(info, 0, NULL, &err), SUMI_EINVAL);
    assert_int_equal(sumi_file_info_tensor(info, -1, &t, &err), SUMI_EINVAL);
    assert_int_equal(sumi_file_info_tensor(info, 134, &t, &err), SUMI_EINVAL);
    assert_non_null(strstr(err.message, "tensor 134 of 134"));
    sumi_file_info_close(info);
}

static void refused(const char *file, sumi_status status)
{
    sumi_error err = { 0 };
    sumi_file_info *info = (void *)path;
    assert_int_equal(sumi_file_info_open(&info, file, &err), status);
    assert_null(info);
    assert_int_equal(err.status, status);
    assert_memory_equal(err.message, file, strlen(file));
    assert_null(strchr(err.message, '\n'));
    assert_int_equal(sumi_file_info_open(&info, file, NULL), status);
}

static blob small_file(void)
{
    blob b = { 0 };
    blob_header(&b, 3, 1, 3);
    blob_key(&b, "n", SUMI_GGUF_U32, 7, 4);
    put_text_key(&b, "s", "text", 4);
    put_array_header(&b, "a", SUMI_GGUF_STRING, 2);
    blob_string(&b, "x");
    blob_string(&b, "yy");
    blob_tensor(&b, "t", 4, 2, 0, 0);
    blob_align(&b, 32);
    blob_zeros(&b, 32);
    return b;
}

static void files_that_are_none(void **state)
{
    (void)state;
    refused("/nonexistent/model.gguf", SUMI_EIO);
    refused("/tmp", SUMI_EIO);
    blob b = small_file();
    b.data[4] = 1;
    assert_true(blob_save(&b, path));
    refused(path, SUMI_EUNSUPPORTED);
    b.data[4] = 3;
    b.data[0] = 'g';
    assert_true(blob_save(&b, path));
    refused(path, SUMI_EFORMAT);
    b.data[0] = 'G';
    for (size_t n = b.n; n-- > 0;) {
        const blob cut = { .data = b.data, .n = n };
        assert_true(blob_save(&cut, path));
        refused(path, SUMI_EFORMAT);
    }
    blob_free(&b);
}

/* Whatever opens can be read to the end. Returns whether it opened. */
static bool read_everything(void)
{
    sumi_file_info *info = NULL;
    if (sumi_file_info_open(&info, path, NULL)) return false;
    for (int64_t i = 0; i < sumi_file_info_n_keys(info); i++) {
        const char *name;
        char *json;
        assert_int_equal(sumi_file_info_key(info, i, -1, &name, &json, NULL), SUMI_OK);
        assert_true(strlen(name) > 0 && strlen(json) > 0);
        free(json);
    }
    for (int64_t i = 0; i < sumi_file_info_n_tensors(info); i++) {
        sumi_tensor_info t;
        assert_int_equal(sumi_file_info_tensor(info, i, &t, NULL), SUMI_OK);
        assert_true(strlen(t.name) > 0 && strlen(t.type_name) > 0);
    }
    sumi_file_info_close(info);
    return true;
}

static void any_damaged_byte_is_survived(void **state)
{
    (void)state;
    static const uint8_t values[] = { 0, 1, 8, 9, 0x7f, 0x80, 0xff };
    blob b = small_file();
    int n_opened = 0, n_refused = 0;
    for (size_t at = 0; at < b.n; at++)
        for (size_t k = 0; k < sizeof values; k++) {
            const uint8_t kept = b.data[at];
            b.data[at] = values[k];
            assert_true(blob_save(&b, path));
            b.data[at] = kept;
            if (read_everything())
                n_opened++;
            else
                n_refused++;
        }
    assert_true(n_opened > 100 && n_refused > 100); /* both paths were walked */
    blob_free(&b);
}

/* ---- Resources -------------------------------------------------------------------------------------- */

/* Quadratic work would take hours here. */
static void large_values_in_linear_time(void **state)
{
    (void)state;
    enum { N_TEXT = 4 << 20, N_ITEMS = 200000 };
    blob b = { 0 };
    blob_header(&b, 3, 0, 2);
    blob_string(&b, "text");
    blob_int(&b, SUMI_GGUF_STRING, 4);
    blob_int(&b, N_TEXT, 8);
    for (int i = 0; i < N_TEXT / 4; i++) blob_put(&b, "\xff\"\xe2\x82", 4);
    put_array_header(&b, "items", SUMI_GGUF_F32, N_ITEMS);
    for (int i = 0; i < N_ITEMS; i++) blob_int(&b, f32((float)i / 7), 4);
    sumi_file_info *info = open_blob(&b);
    const clock_t start = clock();
    for (int64_t i = 0; i < 2; i++) {
        const char *name;
        char *json;
        assert_int_equal(sumi_file_info_key(info, i, -1, &name, &json, NULL), SUMI_OK);
        assert_true(strlen(json) > (i ? 8 * (size_t)N_ITEMS : 2 * (size_t)N_TEXT)); /* 3 + 2 + 3 bytes for 4 */
        free(json);
    }
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 20);
    sumi_file_info_close(info);
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    if (!meter_can_fail()) skip();
    blob b = small_file();
    assert_true(blob_save(&b, path));
    blob_free(&b);
    sumi_status st = SUMI_ENOMEM;
    for (int64_t n = 0; st; n++) {
        sumi_file_info *info = NULL;
        sumi_error err = { 0 };
        const char *name = NULL;
        char *json = NULL;
        const size_t before = meter_now;
        meter_fail_after = n;
        st = sumi_file_info_open(&info, path, &err);
        if (!st) st = sumi_file_info_key(info, 2, -1, &name, &json, &err);
        meter_fail_after = -1;
        if (st) {
            assert_int_equal(st, SUMI_ENOMEM);
            assert_int_equal(err.status, SUMI_ENOMEM);
            assert_null(json);
        }
        if (!st) assert_string_equal(json, "[\"x\", \"yy\"]");
        free(json);
        sumi_file_info_close(info);
        assert_int_equal(meter_now, before);
        assert_true(n < 100);
        if (!st) assert_true(n > 5); /* file, path, directories, names, value */
    }
}

static int make_path(void **state)
{
    (void)state;
    const int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_path(void **state)
{
    (void)state;
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalars),
        cmocka_unit_test(strings),
        cmocka_unit_test(any_bytes_give_a_json_string),
        cmocka_unit_test(arrays),
        cmocka_unit_test(names_are_utf8),
        cmocka_unit_test(tensors_that_cannot_run_are_listed),
        cmocka_unit_test(demonstration_model),
        cmocka_unit_test(wrong_arguments),
        cmocka_unit_test(files_that_are_none),
        cmocka_unit_test(any_damaged_byte_is_survived),
        cmocka_unit_test(large_values_in_linear_time),
        cmocka_unit_test(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
