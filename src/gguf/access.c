/* Typed reads of keys. */
#include "gguf/parse.h"

#include "base/half.h"

#include <assert.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

static const uint8_t *element_at(const sumi_gguf_key *key, uint64_t i)
{
    assert(i < key->n);
    return key->data + i * sumi_gguf_scalar_bytes(key->element_type);
}

int64_t sumi_gguf_int_at(const sumi_gguf_key *key, uint64_t i)
{
    const uint8_t *p = element_at(key, i);
    switch (key->element_type) {
    case SUMI_GGUF_U8:
    case SUMI_GGUF_BOOL:
        return *p;
    case SUMI_GGUF_I8:
        return (int8_t)*p;
    case SUMI_GGUF_U16:
        return (int64_t)sumi_load_le(p, 2);
    case SUMI_GGUF_I16:
        return (int16_t)sumi_load_le(p, 2);
    case SUMI_GGUF_U32:
        return (int64_t)sumi_load_u32(p);
    case SUMI_GGUF_I32:
        return (int32_t)sumi_load_u32(p);
    case SUMI_GGUF_I64:
        return (int64_t)sumi_load_u64(p);
    case SUMI_GGUF_U64: {
        const uint64_t v = sumi_load_u64(p);
        return v > INT64_MAX ? INT64_MAX : (int64_t)v;
    }
    default:
        assert(!"an integer or bool");
        return 0;
    }
}

double sumi_gguf_float_at(const sumi_gguf_key *key, uint64_t i)
{
    const uint8_t *p = element_at(key, i);
    if (key->element_type == SUMI_GGUF_F32) return (double)sumi_bits_float(sumi_load_u32(p));
    if (key->element_type == SUMI_GGUF_U64) return (double)sumi_load_u64(p);
    if (key->element_type != SUMI_GGUF_F64) return (double)sumi_gguf_int_at(key, i);
    const uint64_t bits = sumi_load_u64(p);
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

sumi_str sumi_gguf_next_string(const uint8_t **cursor)
{
    const sumi_str s = { (const char *)*cursor + 8, (size_t)sumi_load_u64(*cursor) };
    *cursor += 8 + s.n_bytes;
    return s;
}

static const char *type_word(const sumi_gguf_key *key)
{
    switch (key->type) {
    case SUMI_GGUF_BOOL:
        return "a bool";
    case SUMI_GGUF_STRING:
        return "a string";
    case SUMI_GGUF_ARRAY:
        return "an array";
    case SUMI_GGUF_F32:
    case SUMI_GGUF_F64:
        return "a float";
    default:
        return "an integer";
    }
}

/* *key stays NULL when the key is absent and may be. */
static sumi_status find(const sumi_gguf *g, const char *name, bool required, const sumi_gguf_key **key,
                        sumi_error *err)
{
    *key = sumi_gguf_find_key(g, name);
    if (*key || !required) return SUMI_OK;
    return sumi_gguf_fail(g, err, SUMI_EFORMAT, "%s: the key is missing", name);
}

static sumi_status fail_type(const sumi_gguf *g, const char *name, const sumi_gguf_key *key, const char *expected,
                             sumi_error *err)
{
    return sumi_gguf_fail(g, err, SUMI_EFORMAT, "%s: is %s, expected %s", name, type_word(key), expected);
}

sumi_status sumi_gguf_get_int(const sumi_gguf *g, const char *name, bool required, int64_t min, int64_t max,
                              int64_t *out, sumi_error *err)
{
    const sumi_gguf_key *key;
    const sumi_status status = find(g, name, required, &key, err);
    if (status || !key) return status;
    if (!sumi_gguf_type_is_int(key->type)) return fail_type(g, name, key, "an integer", err);
    if (key->type == SUMI_GGUF_U64 && sumi_load_u64(key->data) > INT64_MAX)
        return sumi_gguf_fail(g, err, SUMI_EFORMAT, "%s: %" PRIu64 " is outside %" PRId64 "..%" PRId64, name,
                              sumi_load_u64(key->data), min, max);
    const int64_t v = sumi_gguf_int_at(key, 0);
    if (v < min || v > max)
        return sumi_gguf_fail(g, err, SUMI_EFORMAT, "%s: %" PRId64 " is outside %" PRId64 "..%" PRId64, name, v, min,
                              max);
    *out = v;
    return SUMI_OK;
}

sumi_status sumi_gguf_get_float(const sumi_gguf *g, const char *name, bool required, float *out, sumi_error *err)
{
    const sumi_gguf_key *key;
    const sumi_status status = find(g, name, required, &key, err);
    if (status || !key) return status;
    if (key->type != SUMI_GGUF_F32 && key->type != SUMI_GGUF_F64 && !sumi_gguf_type_is_int(key->type))
        return fail_type(g, name, key, "a number", err);
    const double v = sumi_gguf_float_at(key, 0);
    if (!(fabs(v) <= (double)FLT_MAX))
        return sumi_gguf_fail(g, err, SUMI_EFORMAT, "%s: %g is not a finite float32", name, v);
    *out = (float)v;
    return SUMI_OK;
}

sumi_status sumi_gguf_get_bool(const sumi_gguf *g, const char *name, bool required, bool *out, sumi_error *err)
{
    const sumi_gguf_key *key;
    const sumi_status status = find(g, name, required, &key, err);
    if (status || !key) return status;
    if (key->type != SUMI_GGUF_BOOL) return fail_type(g, name, key, "a bool", err);
    *out = key->data[0] != 0;
    return SUMI_OK;
}

sumi_status sumi_gguf_get_string(const sumi_gguf *g, const char *name, bool required, sumi_str *out, sumi_error *err)
{
    const sumi_gguf_key *key;
    const sumi_status status = find(g, name, required, &key, err);
    if (status || !key) return status;
    if (key->type != SUMI_GGUF_STRING) return fail_type(g, name, key, "a string", err);
    const uint8_t *cursor = key->data;
    *out = sumi_gguf_next_string(&cursor);
    return SUMI_OK;
}
