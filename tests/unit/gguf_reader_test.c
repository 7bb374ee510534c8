/* Sound files and their corners: the checked-in models, typed reads, type id 42, messages, time. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "gguf_bytes.h"

#include <time.h>

static char path[] = "/tmp/sumi-gguf-reader-XXXXXX";

/* Open the bytes and free them. */
static sumi_gguf *open_blob(blob *b, sumi_q2_layout q2, sumi_error *err)
{
    sumi_gguf *g = NULL;
    *err = (sumi_error){ 0 };
    assert_true(blob_save(b, path));
    const sumi_status status = sumi_gguf_open(&g, path, q2, err);
    assert_int_equal(status, err->status);
    assert_int_equal(status == SUMI_OK, g != NULL);
    blob_free(b);
    return g;
}

static void refused(blob *b, sumi_status status, const char *text)
{
    sumi_error err;
    assert_null(open_blob(b, SUMI_Q2_AUTO, &err));
    if (!strstr(err.message, text)) print_error("%s\n", err.message);
    assert_non_null(strstr(err.message, text));
    assert_memory_equal(err.message, path, strlen(path));
    assert_int_equal(err.status, status);
}

static void real_files_open(void **state)
{
    (void)state;
    static const char *const files[] = {
        SUMI_TEST_DATA "/golden/qwen3-f16.gguf",           SUMI_TEST_DATA "/golden/qwen3-q1.gguf",
        SUMI_TEST_DATA "/golden/qwen3-q1-hd128-tied.gguf", SUMI_TEST_DATA "/golden/qwen3-q2.gguf",
        SUMI_TEST_DATA "/golden/qwen3-yarn.gguf",          SUMI_MODELS "/sumi-tales-40m-q1_0.gguf"
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        sumi_error err = { 0 };
        sumi_gguf *g = NULL;
        if (sumi_gguf_open(&g, files[i], SUMI_Q2_AUTO, &err)) print_error("%s\n", err.message);
        assert_non_null(g);
        sumi_str arch;
        assert_int_equal(sumi_gguf_get_string(g, "general.architecture", true, &arch, &err), SUMI_OK);
        assert_int_equal(arch.n_bytes, 5);
        assert_memory_equal(arch.data, "qwen3", 5);
        const sumi_gguf_tensor *embd = sumi_gguf_find_tensor(g, "token_embd.weight");
        assert_non_null(embd);
        assert_non_null(embd->data);
        assert_null(sumi_gguf_find_tensor(g, "token_embd"));
        assert_int_not_equal(gguf_walk(g), 0);
        sumi_gguf_close(g);
    }
}

static void typed_reads(void **state)
{
    (void)state;
    blob b = { 0 };
    blob_header(&b, 2, 0, 9);
    blob_key(&b, "i8", SUMI_GGUF_I8, 0xff, 1);
    blob_key(&b, "u64", SUMI_GGUF_U64, UINT64_MAX, 8);
    blob_key(&b, "u16", SUMI_GGUF_U16, 500, 2);
    blob_key(&b, "f32", SUMI_GGUF_F32, 0x3f000000, 4);
    blob_key(&b, "nan", SUMI_GGUF_F32, 0x7fc00000, 4);
    blob_key(&b, "f64", SUMI_GGUF_F64, 0x3fd0000000000000, 8);
    blob_key(&b, "bool", SUMI_GGUF_BOOL, 1, 1);
    blob_string(&b, "str");
    blob_int(&b, SUMI_GGUF_STRING, 4);
    blob_string(&b, "text");
    blob_string(&b, "array");
    blob_int(&b, SUMI_GGUF_ARRAY, 4);
    blob_int(&b, SUMI_GGUF_I16, 4);
    blob_int(&b, 2, 8);
    blob_int(&b, 0xfffe, 2);
    blob_int(&b, 3, 2);
    sumi_error err;
    sumi_gguf *g = open_blob(&b, SUMI_Q2_AUTO, &err);
    assert_non_null(g);
    assert_int_equal(sumi_gguf_version(g), 2);
    int64_t v = 77;
    assert_int_equal(sumi_gguf_get_int(g, "absent", false, 0, 1, &v, &err), SUMI_OK);
    assert_int_equal(v, 77);
    assert_int_equal(sumi_gguf_get_int(g, "absent", true, 0, 1, &v, &err), SUMI_EFORMAT);
    assert_non_null(strstr(err.message, "absent"));
    assert_int_equal(sumi_gguf_get_int(g, "i8", true, -1, 1, &v, &err), SUMI_OK);
    assert_int_equal(v, -1);
    assert_int_equal(sumi_gguf_get_int(g, "u16", true, 0, 499, &v, &err), SUMI_EFORMAT);
    assert_non_null(strstr(err.message, "u16: 500"));
    assert_int_equal(sumi_gguf_get_int(g, "u64", true, 0, INT64_MAX, &v, &err), SUMI_EFORMAT);
    assert_non_null(strstr(err.message, "18446744073709551615"));
    assert_int_equal(sumi_gguf_get_int(g, "f32", true, 0, 1, &v, &err), SUMI_EFORMAT);
    assert_int_equal(sumi_gguf_get_int(g, "bool", true, 0, 1, &v, &err), SUMI_EFORMAT);
    assert_int_equal(v, -1);
    float f = 0;
    assert_int_equal(sumi_gguf_get_float(g, "f32", true, &f, &err), SUMI_OK);
    assert_true(f == 0.5f);
    assert_int_equal(sumi_gguf_get_float(g, "f64", true, &f, &err), SUMI_OK);
    assert_true(f == 0.25f);
    assert_int_equal(sumi_gguf_get_float(g, "u16", true, &f, &err), SUMI_OK);
    assert_true(f == 500);
    assert_int_equal(sumi_gguf_get_float(g, "nan", true, &f, &err), SUMI_EFORMAT);
    assert_int_equal(sumi_gguf_get_float(g, "str", true, &f, &err), SUMI_EFORMAT);
    bool flag = false;
    assert_int_equal(sumi_gguf_get_bool(g, "bool", true, &flag, &err), SUMI_OK);
    assert_true(flag);
    assert_int_equal(sumi_gguf_get_bool(g, "u16", true, &flag, &err), SUMI_EFORMAT);
    sumi_str s;
    assert_int_equal(sumi_gguf_get_string(g, "str", true, &s, &err), SUMI_OK);
    assert_int_equal(s.n_bytes, 4);
    assert_int_equal(sumi_gguf_get_string(g, "array", true, &s, &err), SUMI_EFORMAT);
    const sumi_gguf_key *array = sumi_gguf_find_key(g, "array");
    assert_int_equal(array->n, 2);
    assert_int_equal(sumi_gguf_int_at(array, 0), -2);
    assert_true(sumi_gguf_float_at(array, 1) == 3);
    assert_int_equal(sumi_gguf_int_at(sumi_gguf_find_key(g, "u64"), 0), INT64_MAX);
    sumi_gguf_close(g);
}

/* Three tensors of type id 42 and then a float one; blocks of 34 with the scale at `scale_at`, or of 18. */
static blob q2_file(uint32_t id, bool is_g128, size_t scale_at, const uint64_t *ne0, size_t last_padding)
{
    blob b = { 0 };
    uint64_t offset = 0, sizes[3];
    blob_header(&b, 3, 3, 0);
    for (int i = 0; i < 3; i++) {
        blob_tensor(&b, (const char *[]){ "a", "b", "c" }[i], ne0[i], 4, id, offset);
        sizes[i] = is_g128 ? ne0[i] / 128 * 34 * 4 : ne0[i] / 64 * 18 * 4;
        offset += (sizes[i] + 31) / 32 * 32;
    }
    blob_align(&b, 32);
    for (int i = 0; i < 3; i++) {
        for (uint64_t k = 0; k < sizes[i]; k++) {
            const size_t block_at = k % (is_g128 ? 34 : 18);
            uint8_t byte = 0xa4; /* codes 0, 1, 2, 2 */
            if (block_at == scale_at) byte = 0x00;
            if (block_at == scale_at + 1) byte = 0x2e;
            blob_put(&b, &byte, 1);
        }
        if (i < 2) blob_zeros(&b, (32 - sizes[i] % 32) % 32);
    }
    blob_zeros(&b, last_padding);
    return b;
}

static void expect_q2(blob b, sumi_q2_layout asked, sumi_dtype type)
{
    sumi_error err;
    sumi_gguf *g = open_blob(&b, asked, &err);
    if (!g) print_error("%s\n", err.message);
    assert_non_null(g);
    for (int i = 0; i < 3; i++) assert_int_equal(sumi_gguf_tensor_at(g, i)->format->type, type);
    gguf_walk(g);
    sumi_gguf_close(g);
}

static void type_42_by_spans(void **state)
{
    (void)state;
    static const uint64_t ne0[] = { 512, 1024, 256 };
    expect_q2(q2_file(42, false, 0, ne0, 0), SUMI_Q2_AUTO, SUMI_Q2_0);
    expect_q2(q2_file(42, true, 0, ne0, 0), SUMI_Q2_AUTO, SUMI_Q2_0_G128);
    expect_q2(q2_file(42, true, 32, ne0, 0), SUMI_Q2_AUTO, SUMI_Q2_0_G128_TAIL);
    expect_q2(q2_file(42, true, 0, ne0, 4096), SUMI_Q2_AUTO, SUMI_Q2_0_G128);
    expect_q2(q2_file(142, true, 0, ne0, 0), SUMI_Q2_AUTO, SUMI_Q2_0_G128);
    expect_q2(q2_file(142, true, 0, ne0, 0), SUMI_Q2_G64, SUMI_Q2_0_G128);
    expect_q2(q2_file(42, false, 0, ne0, 0), SUMI_Q2_G128_TAIL, SUMI_Q2_0_G128_TAIL);
    expect_q2(q2_file(42, true, 32, ne0, 0), SUMI_Q2_G128, SUMI_Q2_0_G128);
}

static void type_42_refused_when_unclear(void **state)
{
    (void)state;
    static const uint64_t ne0[] = { 512, 1024, 256 }, tiny[] = { 128, 128, 128 };
    blob b = q2_file(42, true, 16, ne0, 0); /* no scale at either end */
    refused(&b, SUMI_EFORMAT, "neither the first nor the last");
    b = q2_file(42, false, 0, tiny, 0); /* 4 blocks: 144 or 136 bytes, 160 with padding */
    refused(&b, SUMI_EFORMAT, "too small to tell");
    /* A Q1_0 tensor whose id was changed: 144 bytes, while 42 would take 288 or 272. */
    b = (blob){ 0 };
    blob_header(&b, 3, 2, 0);
    blob_tensor(&b, "first", 1024, 1, 42, 0);
    blob_tensor(&b, "second", 4, 1, 0, 160);
    blob_align(&b, 32);
    blob_zeros(&b, 176);
    refused(&b, SUMI_EFORMAT,
            "'first': type id 42 takes 160 bytes, but groups of 64 would take 288 and groups of 128 288");
    /* One tensor in each grouping. */
    blob_header(&b, 3, 3, 0);
    blob_tensor(&b, "first", 2048, 1, 42, 0);
    blob_tensor(&b, "second", 2048, 1, 42, 576);
    blob_tensor(&b, "third", 4, 1, 0, 576 + 544);
    blob_align(&b, 32);
    blob_zeros(&b, 576 + 544 + 16);
    refused(&b, SUMI_EFORMAT,
            "'second': type id 42 takes 544 bytes, but groups of 64 would take 576 and groups of 128 544");
}

static void messages_say_what_it_is(void **state)
{
    (void)state;
    blob b = { 0 };
    blob_put(&b, "<!DOCTYPE html><html>", 21);
    refused(&b, SUMI_EFORMAT, "\"<!DOCTYPE html><\" (this looks like a web page");
    blob_put(&b, "GG", 2);
    refused(&b, SUMI_EFORMAT, "truncated");
    refused(&b, SUMI_EFORMAT, "have 0");
    blob_put(&b, "GGUF\0\0\0\3\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\1", 24);
    refused(&b, SUMI_EUNSUPPORTED, "big-endian");
    blob_header(&b, 1, 0, 0);
    refused(&b, SUMI_EUNSUPPORTED, "version: 1");
    blob_header(&b, 3, 0, 2);
    blob_key(&b, "split.no", SUMI_GGUF_U16, 1, 2);
    blob_key(&b, "split.count", SUMI_GGUF_I32, 3, 4);
    refused(&b, SUMI_EUNSUPPORTED, "part 2 of 3");
    blob_header(&b, 3, 0, 1);
    blob_key(&b, "", SUMI_GGUF_U8, 0, 1);
    blob_zeros(&b, 8);
    refused(&b, SUMI_EFORMAT, "name is empty");
    blob_header(&b, 3, 0, 1);
    blob_key(&b, "general.alignment", SUMI_GGUF_U32, 3, 4);
    refused(&b, SUMI_EFORMAT, "general.alignment: 3");
    blob_header(&b, 3, 0, 2);
    blob_key(&b, "twice", SUMI_GGUF_U8, 0, 1);
    blob_key(&b, "twice", SUMI_GGUF_U8, 0, 1);
    refused(&b, SUMI_EFORMAT, "keys 0 and 1 have the same name 'twice'");
    blob_header(&b, 3, 2, 0);
    blob_tensor(&b, "a.weight", 8, 1, 0, 0);
    blob_tensor(&b, "a.weight", 8, 1, 0, 32);
    blob_zeros(&b, 128);
    refused(&b, SUMI_EFORMAT, "tensors 0 and 1 have the same name 'a.weight'");
    blob_header(&b, 3, 2, 0);
    blob_tensor(&b, "over", 9, 1, 0, 0);
    blob_tensor(&b, "lap", 8, 1, 0, 32);
    blob_zeros(&b, 128);
    refused(&b, SUMI_EFORMAT, "'over' and 'lap' overlap");
    blob_header(&b, 3, 1, 0);
    blob_tensor(&b, "odd", 8, 1, 143, 0);
    blob_zeros(&b, 128);
    refused(&b, SUMI_EUNSUPPORTED, "'odd': type id 143");
    blob_header(&b, 3, 1, 0);
    blob_tensor(&b, "wraps", 8, ((uint64_t)1 << 61) + 1, 0, 0);
    blob_zeros(&b, 128);
    refused(&b, SUMI_EFORMAT, "2305843009213693953");
    blob_header(&b, 3, 1, 0);
    blob_tensor(&b, "short", 8, 1, 0, 0);
    blob_align(&b, 32);
    blob_zeros(&b, 31);
    refused(&b, SUMI_EFORMAT, "expected at least 128 bytes, have 127");
}

static void missing_file(void **state)
{
    (void)state;
    sumi_error err = { 0 };
    sumi_gguf *g = NULL;
    assert_int_equal(sumi_gguf_open(&g, "/nonexistent/x.gguf", SUMI_Q2_AUTO, &err), SUMI_EIO);
    assert_int_equal(sumi_gguf_open(&g, "/", SUMI_Q2_AUTO, NULL), SUMI_EIO);
    assert_null(g);
}

static void known_undecoded_type_opens(void **state)
{
    (void)state;
    blob b = { 0 };
    blob_header(&b, 3, 1, 1);
    blob_key(&b, "general.alignment", SUMI_GGUF_I32, 64, 4);
    blob_tensor(&b, "iq", 256, 1, 16, 0);
    blob_align(&b, 64);
    blob_zeros(&b, 66);
    sumi_error err;
    sumi_gguf *g = open_blob(&b, SUMI_Q2_AUTO, &err);
    assert_non_null(g);
    const sumi_gguf_tensor *t = sumi_gguf_find_tensor(g, "iq");
    assert_null(t->format);
    assert_null(t->data);
    assert_int_equal(t->n_bytes, 0);
    assert_int_equal(t->type_id, 16);
    assert_int_equal(sumi_gguf_alignment(g), 64);
    sumi_gguf_close(g);
}

/* 100000 tensors and 300000 strings: linear work, far below a second of CPU time on anything; the bound only
 * catches work that grows with the square. */
static void large_directories_are_linear(void **state)
{
    (void)state;
    enum { N_TENSORS = 100000, N_STRINGS = 300000 };
    char name[32];
    blob b = { 0 };
    blob_header(&b, 3, N_TENSORS, 1);
    blob_string(&b, "tokens");
    blob_int(&b, SUMI_GGUF_ARRAY, 4);
    blob_int(&b, SUMI_GGUF_STRING, 4);
    blob_int(&b, N_STRINGS, 8);
    for (int i = 0; i < N_STRINGS; i++) {
        snprintf(name, sizeof name, "token%d", i);
        blob_string(&b, name);
    }
    for (int i = 0; i < N_TENSORS; i++) {
        snprintf(name, sizeof name, "blk.%d.weight", i);
        blob_tensor(&b, name, 8, 1, 0, (uint64_t)32 * (uint64_t)i);
    }
    blob_align(&b, 32);
    blob_zeros(&b, (size_t)32 * N_TENSORS);
    assert_true(blob_save(&b, path));
    blob_free(&b);
    sumi_gguf *g = NULL;
    const clock_t start = clock();
    assert_int_equal(sumi_gguf_open(&g, path, SUMI_Q2_AUTO, NULL), SUMI_OK);
    const double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    print_message("%d tensors, %d strings: %.3f s of CPU time\n", N_TENSORS, N_STRINGS, seconds);
    assert_true(seconds < 10);
    assert_int_equal(sumi_gguf_find_tensor(g, "blk.99999.weight")->offset_bytes % 32, 0);
    assert_null(sumi_gguf_find_tensor(g, "blk.100000.weight"));
    sumi_gguf_close(g);
}

static int set_up(void **state)
{
    (void)state;
    const int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}
static int tear_down(void **state)
{
    (void)state;
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(real_files_open),
        cmocka_unit_test(typed_reads),
        cmocka_unit_test(type_42_by_spans),
        cmocka_unit_test(type_42_refused_when_unclear),
        cmocka_unit_test(messages_say_what_it_is),
        cmocka_unit_test(missing_file),
        cmocka_unit_test(known_undecoded_type_opens),
        cmocka_unit_test(large_directories_are_linear),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
