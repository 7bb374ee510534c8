/* What the writer writes, byte for byte and through the reader; what it refuses; what it leaves behind. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "alloc_meter.h"
#include "gguf_bytes.h"

#include <dirent.h>

static char folder[] = "/tmp/sumi-gguf-writer-XXXXXX";
static char path[64];

static int n_files(void)
{
    DIR *d = opendir(folder);
    int n = 0;
    assert_non_null(d);
    for (const struct dirent *e; (e = readdir(d));) n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static sumi_gguf_writer *new_writer(void)
{
    sumi_gguf_writer *w = NULL;
    assert_int_equal(sumi_gguf_writer_new(&w, path, NULL), SUMI_OK);
    return w;
}

static sumi_str str(const char *s) { return (sumi_str){ s, strlen(s) }; }

static void bytes_are_as_specified(void **state)
{
    (void)state;
    sumi_gguf_writer *w = new_writer();
    sumi_error err = { 0 };
    const uint8_t data[9 * 4] = { 1, 2, 3 };
    assert_int_equal(sumi_gguf_put_int(w, "general.alignment", SUMI_GGUF_U32, 64), SUMI_OK);
    assert_int_equal(sumi_gguf_put_string(w, "s", str("text")), SUMI_OK);
    assert_int_equal(sumi_gguf_put_tensor(w, "a", SUMI_F32, 2, (int64_t[]){ 9, 1 }), SUMI_OK);
    assert_int_equal(sumi_gguf_put_tensor(w, "b", SUMI_Q1_0, 2, (int64_t[]){ 128, 2 }), SUMI_OK);
    for (int i = 0; i < 36; i += 12) assert_int_equal(sumi_gguf_write_data(w, data + i, 12, &err), SUMI_OK);
    assert_int_equal(sumi_gguf_write_data(w, data, 36, &err), SUMI_OK);
    assert_int_equal(sumi_gguf_writer_finish(w, &err), SUMI_OK);
    sumi_gguf_writer_free(w);

    blob b = { 0 };
    blob_header(&b, 3, 2, 2);
    blob_key(&b, "general.alignment", SUMI_GGUF_U32, 64, 4);
    blob_string(&b, "s");
    blob_int(&b, SUMI_GGUF_STRING, 4);
    blob_string(&b, "text");
    blob_tensor(&b, "a", 9, 1, 0, 0);
    blob_tensor(&b, "b", 128, 2, 41, 64);
    blob_align(&b, 64);
    blob_put(&b, data, 36);
    blob_align(&b, 64);
    blob_put(&b, data, 36);
    blob_align(&b, 64);
    sumi_file f = { 0 };
    assert_int_equal(sumi_file_map(&f, path, NULL), SUMI_OK);
    assert_int_equal(f.size_bytes, b.n);
    assert_memory_equal(f.data, b.data, b.n);
    sumi_file_unmap(&f);
    blob_free(&b);
    assert_int_equal(n_files(), 1);
    unlink(path);
}

static void every_kind_of_key_comes_back(void **state)
{
    (void)state;
    sumi_gguf_writer *w = new_writer();
    static const struct {
        const char *name;
        sumi_gguf_type type;
        int64_t value;
    } ints[] = { { "u8", SUMI_GGUF_U8, 255 },          { "i8", SUMI_GGUF_I8, -128 },
                 { "u16", SUMI_GGUF_U16, 65535 },      { "i16", SUMI_GGUF_I16, -32768 },
                 { "u32", SUMI_GGUF_U32, UINT32_MAX }, { "i32", SUMI_GGUF_I32, INT32_MIN },
                 { "u64", SUMI_GGUF_U64, INT64_MAX },  { "i64", SUMI_GGUF_I64, INT64_MIN } };
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(sumi_gguf_put_int(w, ints[i].name, ints[i].type, ints[i].value), SUMI_OK);
    sumi_gguf_put_float(w, "f", -1.5f);
    sumi_gguf_put_bool(w, "yes", true);
    sumi_gguf_put_array(w, "array", SUMI_GGUF_U8, "\1\2\3", 3);
    sumi_gguf_put_array(w, "empty", SUMI_GGUF_F32, NULL, 0);
    sumi_gguf_put_strings(w, "strings", (sumi_str[]){ { "a\0b", 3 }, { "", 0 } }, 2);
    sumi_error err = { 0 };
    assert_int_equal(sumi_gguf_writer_finish(w, &err), SUMI_OK);
    sumi_gguf_writer_free(w);

    sumi_gguf *g = NULL;
    assert_int_equal(sumi_gguf_open(&g, path, SUMI_Q2_AUTO, &err), SUMI_OK);
    assert_int_equal(sumi_gguf_n_keys(g), 13);
    for (size_t i = 0; i < 8; i++) {
        int64_t v = 0;
        assert_int_equal(sumi_gguf_get_int(g, ints[i].name, true, INT64_MIN, INT64_MAX, &v, &err), SUMI_OK);
        assert_true(v == ints[i].value);
    }
    float f = 0;
    bool yes = false;
    assert_int_equal(sumi_gguf_get_float(g, "f", true, &f, &err), SUMI_OK);
    assert_int_equal(sumi_gguf_get_bool(g, "yes", true, &yes, &err), SUMI_OK);
    assert_true(f == -1.5f && yes);
    assert_int_equal(sumi_gguf_int_at(sumi_gguf_find_key(g, "array"), 2), 3);
    assert_int_equal(sumi_gguf_find_key(g, "empty")->n, 0);
    const uint8_t *cursor = sumi_gguf_find_key(g, "strings")->data;
    assert_int_equal(sumi_gguf_next_string(&cursor).n_bytes, 3);
    assert_int_equal(sumi_gguf_next_string(&cursor).n_bytes, 0);
    sumi_gguf_close(g);
    unlink(path);
}

/* Copy a file through reader and writer: keys verbatim, tensors of all its formats. */
static void copy(const char *from)
{
    sumi_gguf *a = NULL, *b = NULL;
    assert_int_equal(sumi_gguf_open(&a, from, SUMI_Q2_AUTO, NULL), SUMI_OK);
    sumi_gguf_writer *w = new_writer();
    for (int64_t i = 0; i < sumi_gguf_n_keys(a); i++) sumi_gguf_put_key(w, sumi_gguf_key_at(a, i));
    for (int64_t i = 0; i < sumi_gguf_n_tensors(a); i++) {
        const sumi_gguf_tensor *t = sumi_gguf_tensor_at(a, i);
        char name[64] = { 0 };
        memcpy(name, t->name.data, t->name.n_bytes);
        sumi_gguf_put_tensor(w, name, t->format->type, t->n_dims, t->dims);
    }
    for (int64_t i = 0; i < sumi_gguf_n_tensors(a); i++) {
        const sumi_gguf_tensor *t = sumi_gguf_tensor_at(a, i);
        assert_int_equal(sumi_gguf_write_data(w, t->data, t->n_bytes, NULL), SUMI_OK);
    }
    assert_int_equal(sumi_gguf_writer_finish(w, NULL), SUMI_OK);
    sumi_gguf_writer_free(w);
    sumi_error err = { 0 };
    if (sumi_gguf_open(&b, path, SUMI_Q2_AUTO, &err)) print_error("%s\n", err.message);
    assert_non_null(b);
    assert_int_equal(sumi_gguf_n_keys(a), sumi_gguf_n_keys(b));
    assert_int_equal(sumi_gguf_n_tensors(a), sumi_gguf_n_tensors(b));
    for (int64_t i = 0; i < sumi_gguf_n_keys(a); i++) {
        const sumi_gguf_key *x = sumi_gguf_key_at(a, i), *y = sumi_gguf_key_at(b, i);
        assert_true(x->type == y->type && x->element_type == y->element_type && x->n == y->n);
        assert_int_equal(x->n_bytes, y->n_bytes);
        assert_memory_equal(x->data, y->data, x->n_bytes);
    }
    for (int64_t i = 0; i < sumi_gguf_n_tensors(a); i++) {
        const sumi_gguf_tensor *x = sumi_gguf_tensor_at(a, i), *y = sumi_gguf_tensor_at(b, i);
        assert_ptr_equal(x->format, y->format);
        assert_memory_equal(x->dims, y->dims, sizeof x->dims);
        assert_memory_equal(x->data, y->data, x->n_bytes);
    }
    sumi_gguf_close(a);
    sumi_gguf_close(b);
    unlink(path);
}

static void copies_are_equal(void **state)
{
    (void)state;
    copy(SUMI_TEST_DATA "/golden/qwen3-q1.gguf");
    copy(SUMI_TEST_DATA "/golden/qwen3-q2.gguf");
    copy(SUMI_TEST_DATA "/golden/qwen3-f16.gguf");
}

/* The error of one bad call surfaces at the end, names the path, and no file appears. */
static void expect_refusal(sumi_gguf_writer *w, const char *text)
{
    sumi_error err = { 0 };
    assert_int_not_equal(sumi_gguf_writer_finish(w, &err), SUMI_OK);
    if (!strstr(err.message, text)) print_error("%s\n", err.message);
    assert_non_null(strstr(err.message, text));
    assert_memory_equal(err.message, path, strlen(path));
    assert_int_equal(sumi_gguf_put_bool(w, "later", true), err.status);
    sumi_gguf_writer_free(w);
    assert_int_equal(n_files(), 0);
}

static void bad_calls_are_refused(void **state)
{
    (void)state;
    sumi_gguf_writer *w = new_writer();
    assert_int_equal(sumi_gguf_put_int(w, "k", SUMI_GGUF_U8, 256), SUMI_EINVAL);
    expect_refusal(w, "256");
    w = new_writer();
    sumi_gguf_put_int(w, "general.alignment", SUMI_GGUF_U32, 48);
    expect_refusal(w, "general.alignment: 48");
    w = new_writer();
    sumi_gguf_put_bool(w, "", true);
    expect_refusal(w, "name has");
    w = new_writer();
    sumi_gguf_put_bool(w, "twice", true);
    sumi_gguf_put_bool(w, "twice", true);
    expect_refusal(w, "two keys named 'twice'");
    w = new_writer();
    sumi_gguf_put_tensor(w, "t", SUMI_Q1_0, 1, (int64_t[]){ 64 });
    expect_refusal(w, "rows of 64");
    w = new_writer();
    sumi_gguf_put_tensor(w, "t", SUMI_F32, 2, (int64_t[]){ 4, 0 });
    expect_refusal(w, "dimension 1 is 0");
    w = new_writer();
    sumi_gguf_put_tensor(w, "t", SUMI_F32, 3, (int64_t[]){ (int64_t)1 << 40, (int64_t)1 << 40, 2 });
    expect_refusal(w, "dimension 1");
    w = new_writer();
    sumi_gguf_put_tensor(w, "t", SUMI_F32, 1, (int64_t[]){ 4 });
    sumi_gguf_write_data(w, "1234", 4, NULL);
    expect_refusal(w, "'t': 4 of 16 bytes");
    w = new_writer();
    sumi_gguf_put_tensor(w, "t", SUMI_F32, 1, (int64_t[]){ 1 });
    sumi_gguf_write_data(w, "12345", 5, NULL);
    expect_refusal(w, "'t': 0 + 5 bytes of 4");
    w = new_writer();
    sumi_gguf_write_data(w, "1", 1, NULL);
    expect_refusal(w, "beyond the last tensor");
    w = new_writer();
    sumi_gguf_put_tensor(w, "t", SUMI_F32, 1, (int64_t[]){ 1 });
    sumi_gguf_write_data(w, "1234", 4, NULL);
    sumi_gguf_put_bool(w, "late", true);
    expect_refusal(w, "after the first data");
}

static void unwritable_places(void **state)
{
    (void)state;
    sumi_gguf_writer *w = NULL;
    sumi_error err = { 0 };
    assert_int_equal(sumi_gguf_writer_new(&w, "/nonexistent/x.gguf", &err), SUMI_EIO);
    assert_memory_equal(err.message, "/nonexistent/x.gguf: ", 21);
    assert_int_equal(sumi_gguf_writer_new(&w, folder, &err), SUMI_EIO);
    assert_int_equal(sumi_gguf_writer_new(&w, "/dev/null", NULL), SUMI_EIO);
    assert_null(w);
    sumi_gguf_writer_free(NULL);
}

/* An abandoned write leaves the file of that name as it was. */
static void the_old_file_stays(void **state)
{
    (void)state;
    const blob old = { (uint8_t *)"old", 3, 3 };
    assert_true(blob_save(&old, path));
    sumi_gguf_writer *w = new_writer();
    sumi_gguf_put_bool(w, "k", true);
    assert_int_equal(n_files(), 2);
    sumi_gguf_writer_free(w);
    assert_int_equal(n_files(), 1);
    sumi_file f = { 0 };
    assert_int_equal(sumi_file_map(&f, path, NULL), SUMI_OK);
    assert_memory_equal(f.data, "old", 3);
    sumi_file_unmap(&f);
    unlink(path);
}

static sumi_status write_small(void)
{
    sumi_gguf_writer *w = NULL;
    sumi_status status = sumi_gguf_writer_new(&w, path, NULL);
    if (status) return status;
    sumi_gguf_put_bool(w, "k", true);
    sumi_gguf_put_tensor(w, "t", SUMI_F32, 1, (int64_t[]){ 1 });
    status = sumi_gguf_write_data(w, "1234", 4, NULL);
    if (!status) status = sumi_gguf_writer_finish(w, NULL);
    sumi_gguf_writer_free(w);
    return status;
}

static void any_allocation_may_fail(void **state)
{
    (void)state;
    if (!meter_can_fail()) skip();
    int64_t n = 0;
    for (sumi_status status = SUMI_ENOMEM; status; n++) {
        meter_fail_after = n;
        status = write_small();
        meter_fail_after = -1;
        assert_int_equal(n_files(), status ? 0 : 1);
    }
    assert_true(n > 8);
    unlink(path);
}

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/x.gguf", folder);
    return 0;
}
static int tear_down(void **state)
{
    (void)state;
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_as_specified),  cmocka_unit_test(every_kind_of_key_comes_back),
        cmocka_unit_test(copies_are_equal),        cmocka_unit_test(bad_calls_are_refused),
        cmocka_unit_test(unwritable_places),       cmocka_unit_test(the_old_file_stays),
        cmocka_unit_test(any_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
