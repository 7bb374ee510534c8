/* Damaged files, made from one good file field by field: each must be refused with a line that starts with the
 * path, cheaply. Where a change leaves the file sound, the table says so and it must open. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "alloc_meter.h"
#include "gguf_bytes.h"

#include <time.h>

enum { MAX_BYTES = 64 << 20, MAX_FIELDS = 256, DATA_BYTES = 192 + 1152 + 64 };

typedef enum field_kind {
    F_MAGIC,
    F_VERSION,
    F_N_TENSORS,
    F_N_KEYS,
    F_LENGTH, /* of a name or string */
    F_VALUE_TYPE,
    F_ELEMENT_TYPE,
    F_COUNT, /* of an array */
    F_BOOL,
    F_ALIGNMENT,
    F_SPLIT_COUNT,
    F_N_DIMS,
    F_DIM,
    F_FREE_DIM, /* of a tensor of unknown size: any product below 2^63 will do */
    F_TYPE,
    F_OFFSET
} field_kind;

typedef struct field {
    field_kind kind;
    size_t at, n_bytes;
} field;

static blob good;
static field fields[MAX_FIELDS];
static size_t n_fields;
static char path[] = "/tmp/sumi-gguf-malformed-XXXXXX";
static int n_variants;

/* Write a field of the good file and remember where it is. */
static void note(field_kind kind, uint64_t value, size_t n_bytes)
{
    assert_true(n_fields < MAX_FIELDS);
    fields[n_fields++] = (field){ kind, good.n, n_bytes };
    blob_int(&good, value, n_bytes);
}
static void noted_string(const char *s)
{
    note(F_LENGTH, strlen(s), 8);
    blob_put(&good, s, strlen(s));
}
static void noted_key(const char *name, uint32_t type)
{
    noted_string(name);
    note(F_VALUE_TYPE, type, 4);
}
static void noted_array(const char *name, uint32_t element, uint64_t n)
{
    noted_key(name, SUMI_GGUF_ARRAY);
    note(F_ELEMENT_TYPE, element, 4);
    note(F_COUNT, n, 8);
}
static void noted_tensor(const char *name, uint64_t ne0, uint64_t ne1, uint32_t type, uint64_t offset, field_kind dim)
{
    noted_string(name);
    note(F_N_DIMS, 2, 4);
    note(dim, ne0, 8);
    note(dim, ne1, 8);
    note(F_TYPE, type, 4);
    note(F_OFFSET, offset, 8);
}

/* Offsets are multiples of 64 and the data starts at one, so alignments up to 64 fit this file. */
static void build_good(void)
{
    fields[n_fields++] = (field){ F_MAGIC, 0, 4 };
    blob_put(&good, "GGUF", 4);
    note(F_VERSION, 3, 4);
    note(F_N_TENSORS, 5, 8);
    note(F_N_KEYS, 10, 8);
    noted_key("general.architecture", SUMI_GGUF_STRING);
    noted_string("qwen3");
    noted_key("general.alignment", SUMI_GGUF_U32);
    note(F_ALIGNMENT, 32, 4);
    noted_key("split.count", SUMI_GGUF_U16);
    note(F_SPLIT_COUNT, 1, 2);
    noted_key("flag", SUMI_GGUF_BOOL);
    note(F_BOOL, 1, 1);
    noted_key("wide", SUMI_GGUF_U64);
    blob_int(&good, UINT64_MAX, 8);
    noted_key("double", SUMI_GGUF_F64);
    blob_int(&good, 0x3ff0000000000000, 8);
    noted_array("ints", SUMI_GGUF_I32, 3);
    blob_zeros(&good, 12);
    noted_array("flags", SUMI_GGUF_BOOL, 2);
    note(F_BOOL, 0, 1);
    note(F_BOOL, 1, 1);
    noted_array("words", SUMI_GGUF_STRING, 2);
    noted_string("one");
    noted_string("");
    noted_key("filler", SUMI_GGUF_STRING);
    const size_t tensor_bytes = 5 * (8 + 1 + 4 + 16 + 4 + 8);
    char filler[65] = { 0 };
    memset(filler, 'x', (128 - (good.n + 8 + tensor_bytes) % 64) % 64);
    noted_string(filler);
    noted_tensor("a", 4, 2, 0, 0, F_DIM);
    noted_tensor("b", 128, 3, 41, 64, F_DIM);
    noted_tensor("c", 256, 1, 16, 128, F_FREE_DIM);
    noted_tensor("d", 4096, 1, 42, 192, F_DIM);
    noted_tensor("e", 16, 1, 0, 192 + 1152, F_DIM);
    assert_int_equal(good.n % 64, 0);
    blob_zeros(&good, DATA_BYTES);
}

/* Open the bytes and hold the result against what is known of them. */
static void expect(const blob *b, bool opens, const char *what)
{
    assert_true(blob_save(b, path));
    sumi_gguf *g = NULL;
    sumi_error err = { 0 };
    const size_t before = meter_now;
    const clock_t start = clock();
    meter_start();
    const sumi_status status = sumi_gguf_open(&g, path, SUMI_Q2_AUTO, &err);
    if (opens != (status == SUMI_OK)) print_error("%s: status %d, %s\n", what, status, err.message);
    assert_int_equal(opens, status == SUMI_OK);
    assert_true(meter_peak_since(before) < MAX_BYTES);
    assert_true(clock() - start < 2 * CLOCKS_PER_SEC); /* microseconds expected; this only catches endless work */
    if (status) {
        assert_null(g);
        assert_int_equal(err.status, status);
        assert_memory_equal(err.message, path, strlen(path));
        assert_true(strlen(err.message) > strlen(path) + 10);
    } else {
        gguf_walk(g);
    }
    sumi_gguf_close(g);
    assert_int_equal(meter_now, before);
    n_variants++;
}

static uint64_t value_of(const field *f)
{
    uint64_t v = 0;
    for (size_t i = 0; i < f->n_bytes; i++) v |= (uint64_t)good.data[f->at + i] << (8 * i);
    return v;
}

/* Whether the good file with this one field changed to v is still sound. */
static bool is_sound(const field *f, uint64_t v)
{
    if (v == value_of(f)) return true;
    switch (f->kind) {
    case F_VERSION:
        return v == 2;
    case F_N_TENSORS:
        return v == 0;
    case F_BOOL:
        return v <= 1;
    case F_ALIGNMENT:
        return v >= 1 && v <= 64 && (v & (v - 1)) == 0;
    case F_SPLIT_COUNT:
        return v <= 1;
    case F_FREE_DIM:
        return v >= 1 && v <= (uint64_t)INT64_MAX / (value_of(f) == 1 ? 256 : 1);
    default:
        return false;
    }
}

static void mutate(const field *f, uint64_t v)
{
    char what[96];
    const uint64_t masked = f->n_bytes == 8 ? v : v & (((uint64_t)1 << (8 * f->n_bytes)) - 1);
    snprintf(what, sizeof what, "field kind %d at %zu = %llu", f->kind, f->at, (unsigned long long)masked);
    blob b = { 0 };
    blob_put(&b, good.data, good.n);
    for (size_t i = 0; i < f->n_bytes; i++) b.data[f->at + i] = (uint8_t)(masked >> (8 * i));
    expect(&b, is_sound(f, masked), what);
    blob_free(&b);
}

static void every_field_to_every_extreme(void **state)
{
    (void)state;
    static const uint64_t extremes[] = { 0,
                                         (uint64_t)1 << 31,
                                         ((uint64_t)1 << 32) - 1,
                                         (uint64_t)1 << 32,
                                         ((uint64_t)1 << 42) + 1,
                                         ((uint64_t)1 << 61) + 1,
                                         (uint64_t)1 << 62,
                                         (uint64_t)1 << 63,
                                         UINT64_MAX };
    for (size_t i = 0; i < n_fields; i++) {
        /* A type, count or length of 0 only moves the reading along; what follows is then read as something
         * else. Where that is not refused for certain, it is left to the random test. */
        for (size_t k = 0; k < sizeof extremes / sizeof *extremes; k++) {
            const uint64_t v = extremes[k];
            const size_t n = fields[i].n_bytes;
            if (n < 8 && v >> (8 * n)) continue;
            const bool moves_along = fields[i].kind == F_VALUE_TYPE || fields[i].kind == F_ELEMENT_TYPE ||
                                     fields[i].kind == F_COUNT || fields[i].kind == F_TYPE;
            if (v == 0 && (moves_along || fields[i].kind == F_OFFSET)) continue;
            mutate(&fields[i], v);
        }
    }
}

static void each_kind_of_field_to_its_own_bad_values(void **state)
{
    (void)state;
    static const struct {
        field_kind kind;
        uint64_t values[8];
    } bad[] = {
        { F_VERSION, { 1, 2, 4, 5, 100, 0x03000000, 0x02000000, 0x00030000 } },
        { F_VALUE_TYPE, { 13, 14, 99, 0x100, 0x1000000, 13, 255, 0x10000 } },
        { F_ELEMENT_TYPE, { SUMI_GGUF_ARRAY, 13, 14, 99, 0x100, 255, 0x10000, 0x1000000 } },
        { F_BOOL, { 2, 3, 127, 128, 255, 254, 16, 0 } },
        { F_ALIGNMENT, { 1, 2, 3, 16, 64, 100, 1 << 20, 1 << 21 } },
        { F_SPLIT_COUNT, { 2, 3, 100, 0xffff, 0, 4, 5, 6 } },
        { F_N_DIMS, { 5, 6, 7, 8, 100, 255, 0x10000, 0x1000000 } },
        { F_TYPE, { 99, 143, 150, 200, 255, 1000, 0x10000, 0x1000000 } },
        { F_OFFSET, { 1, 8, 31, (uint64_t)1 << 40, (uint64_t)0 - 32, 832, 1 << 20, 33 } },
        { F_DIM, { 1 << 20, 129, 4097, (uint64_t)1 << 40, (uint64_t)1 << 60, 100001, 65, 127 } },
    };
    for (size_t i = 0; i < n_fields; i++)
        for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
            for (size_t j = 0; bad[k].kind == fields[i].kind && j < 8; j++) mutate(&fields[i], bad[k].values[j]);
}

static void every_truncation(void **state)
{
    (void)state;
    for (size_t n = 0; n < good.n; n++) {
        const blob b = { good.data, n, n };
        expect(&b, false, "truncated");
    }
}

static void endless_padding_and_none(void **state)
{
    (void)state;
    blob b = { 0 };
    blob_put(&b, good.data, good.n);
    expect(&b, true, "as it is");
    blob_zeros(&b, 31);
    expect(&b, true, "31 bytes behind the end");
    blob_zeros(&b, 5000);
    expect(&b, true, "a page behind the end");
    blob_free(&b);
}

static void random_bytes_are_refused_or_readable(void **state)
{
    (void)state;
    uint64_t seed = 88172645463325252u; /* xorshift, Marsaglia 2003 */
    int n_refused = 0;
    for (int i = 0; i < 2000; i++) {
        blob b = { 0 };
        blob_put(&b, good.data, good.n);
        for (int k = 0; k < 1 + i % 4; k++) {
            seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
            b.data[seed % (good.n - DATA_BYTES)] = (uint8_t)(seed >> 40);
        }
        assert_true(blob_save(&b, path));
        sumi_gguf *g = NULL;
        sumi_error err = { 0 };
        const size_t before = meter_now;
        if (!sumi_gguf_open(&g, path, SUMI_Q2_AUTO, &err)) gguf_walk(g);
        n_refused += g == NULL;
        assert_true(g || strlen(err.message) > strlen(path));
        sumi_gguf_close(g);
        assert_int_equal(meter_now, before);
        blob_free(&b);
    }
    assert_in_range(n_refused, 500, 2000);
}

static void any_allocation_may_fail(void **state)
{
    (void)state;
    if (!meter_can_fail()) skip();
    assert_true(blob_save(&good, path));
    int64_t n = 0;
    for (sumi_status status = SUMI_ENOMEM; status; n++) {
        sumi_gguf *g = NULL;
        sumi_error err = { 0 };
        const size_t before = meter_now;
        meter_fail_after = n;
        status = sumi_gguf_open(&g, path, SUMI_Q2_AUTO, &err);
        meter_fail_after = -1;
        assert_true(status == SUMI_OK || status == SUMI_ENOMEM);
        sumi_gguf_close(g);
        assert_int_equal(meter_now, before);
    }
    assert_true(n > 6); /* file, path, keys, tensors, two indexes, order */
}

static int set_up(void **state)
{
    (void)state;
    const int fd = mkstemp(path);
    if (fd < 0) return -1;
    close(fd);
    build_good();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    print_message("%d variants\n", n_variants);
    unlink(path);
    blob_free(&good);
    return n_variants >= 300 ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_to_every_extreme),
        cmocka_unit_test(each_kind_of_field_to_its_own_bad_values),
        cmocka_unit_test(every_truncation),
        cmocka_unit_test(endless_padding_and_none),
        cmocka_unit_test(random_bytes_are_refused_or_readable),
        cmocka_unit_test(any_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
