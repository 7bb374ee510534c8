#include "gguf/parse.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The path goes in front at the end: if the line is too long, it is the tail that is cut. */
sumi_status sumi_gguf_fail(const sumi_gguf *g, sumi_error *err, sumi_status status, const char *fmt, ...)
{
    char text[sizeof err->message];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    sumi_fail(err, status, "%s", text);
    return sumi_fail_prefix(err, status, "%s", g->path);
}

sumi_status sumi_gguf_fail_at(const sumi_gguf_cursor *c, sumi_status status, const char *fmt, ...)
{
    char text[sizeof c->err->message];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (!c->name.n_bytes) return sumi_gguf_fail(c->g, c->err, status, "%s %" PRIu64 ": %s", c->kind, c->number, text);
    return sumi_gguf_fail(c->g, c->err, status, "%s %" PRIu64 " '%.*s': %s", c->kind, c->number,
                          sumi_str_shown(c->name), c->name.data, text);
}

sumi_status sumi_gguf_take(sumi_gguf_cursor *c, const char *field, uint64_t n, const uint8_t **out)
{
    const uint64_t size = c->g->file.size_bytes;
    if (n > size - c->at) {
        const uint64_t expected = n > UINT64_MAX - c->at ? UINT64_MAX : c->at + n;
        return sumi_gguf_fail_at(c, SUMI_EFORMAT,
                                 "%s of %" PRIu64 " bytes at offset %" PRIu64 ": expected at least %" PRIu64
                                 " bytes, have %" PRIu64 ": the file is truncated or damaged",
                                 field, n, c->at, expected, size);
    }
    *out = c->g->file.data + c->at;
    c->at += n;
    return SUMI_OK;
}

sumi_status sumi_gguf_take_u32(sumi_gguf_cursor *c, const char *field, uint32_t *out)
{
    const uint8_t *p = c->g->file.data; /* replaced on success */
    const sumi_status status = sumi_gguf_take(c, field, 4, &p);
    if (!status) *out = sumi_load_u32(p);
    return status;
}

sumi_status sumi_gguf_take_u64(sumi_gguf_cursor *c, const char *field, uint64_t *out)
{
    const uint8_t *p = c->g->file.data; /* replaced on success */
    const sumi_status status = sumi_gguf_take(c, field, 8, &p);
    if (!status) *out = sumi_load_u64(p);
    return status;
}

sumi_status sumi_gguf_take_string(sumi_gguf_cursor *c, const char *field, sumi_str *out)
{
    uint64_t n_bytes;
    const uint8_t *p = c->g->file.data; /* replaced on success */
    sumi_status status = sumi_gguf_take_u64(c, field, &n_bytes);
    if (!status) status = sumi_gguf_take(c, field, n_bytes, &p);
    if (!status) *out = (sumi_str){ (const char *)p, (size_t)n_bytes };
    return status;
}

sumi_status sumi_gguf_take_name(sumi_gguf_cursor *c, uint64_t max_bytes, sumi_str *out)
{
    sumi_str name;
    const sumi_status status = sumi_gguf_take_string(c, "name", &name);
    if (status) return status;
    if (!name.n_bytes) return sumi_gguf_fail_at(c, SUMI_EFORMAT, "name is empty");
    if (name.n_bytes > max_bytes)
        return sumi_gguf_fail_at(c, SUMI_EFORMAT, "name '%.*s...' has %zu bytes, more than %" PRIu64, 40, name.data,
                                 name.n_bytes, max_bytes);
    if (memchr(name.data, 0, name.n_bytes))
        return sumi_gguf_fail_at(c, SUMI_EFORMAT, "name of %zu bytes holds a zero byte", name.n_bytes);
    c->name = *out = name;
    return SUMI_OK;
}

sumi_status sumi_gguf_grow(sumi_gguf_cursor *c, void **items, uint64_t n_items, uint64_t *capacity, size_t item_bytes)
{
    if (n_items < *capacity) return SUMI_OK;
    const uint64_t wanted = *capacity ? 2 * *capacity : 64;
    void *grown = realloc(*items, wanted * item_bytes);
    if (!grown) return sumi_gguf_fail_at(c, SUMI_ENOMEM, "%" PRIu64 " bytes", wanted * item_bytes);
    *items = grown;
    *capacity = wanted;
    return SUMI_OK;
}

sumi_status sumi_gguf_index_names(sumi_gguf *g, sumi_name_index *index, const char *kind, const void *items,
                                  size_t stride, uint64_t n, sumi_error *err)
{
    uint64_t clash[2] = { 0 };
    const sumi_status status = sumi_name_index_build(index, items, stride, n, clash);
    if (status == SUMI_ENOMEM) return sumi_gguf_fail(g, err, status, "index of %" PRIu64 " %ss", n, kind);
    if (status == SUMI_ELIMIT) return sumi_gguf_fail(g, err, status, "%" PRIu64 " %ss: more than 2^30", n, kind);
    if (!status) return status;
    const sumi_str *name = (const void *)((const uint8_t *)items + clash[1] * stride);
    if (clash[0] == clash[1])
        return sumi_gguf_fail(g, err, status, "%s %" PRIu64 " '%.*s': too many names with one hash", kind, clash[1],
                              sumi_str_shown(*name), name->data);
    return sumi_gguf_fail(g, err, status, "%ss %" PRIu64 " and %" PRIu64 " have the same name '%.*s'", kind, clash[0],
                          clash[1], sumi_str_shown(*name), name->data);
}
