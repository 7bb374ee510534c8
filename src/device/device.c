/* The public functions of devices, buffers and weights: argument checks, then the backend. */
#include "device/device.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "quant/quant.h"

sumi_device_options sumi_device_defaults(void) { return (sumi_device_options){ 0 }; }

sumi_status sumi_device_open(sumi_device **out, const char *name, const sumi_device_options *options, sumi_error *err)
{
    if (!out) return sumi_fail(err, SUMI_EINVAL, "device: out is NULL");
    *out = NULL;
    const sumi_device_options defaults = sumi_device_defaults();
    if (!name) return sumi_fail(err, SUMI_EINVAL, "device: name is NULL");
    if (strcmp(name, "cpu") == 0) return sumi_cpu_device_open(out, options ? options : &defaults, err);
    return sumi_fail(err, SUMI_EINVAL, "device '%s': unknown; this build has: cpu", name);
}

void sumi_device_free(sumi_device *device)
{
    if (device) device->backend->free(device);
}

const char *sumi_device_description(const sumi_device *device) { return device ? device->description : ""; }

int32_t sumi_device_n_threads(const sumi_device *device) { return device ? device->n_threads : 0; }

sumi_status sumi_buffer_new(sumi_buffer **out, sumi_device *device, size_t size_bytes, sumi_error *err)
{
    if (!out) return sumi_fail(err, SUMI_EINVAL, "buffer: out is NULL");
    *out = NULL;
    if (!device) return sumi_fail(err, SUMI_EINVAL, "buffer: no device");
    if (size_bytes == 0) return sumi_fail(err, SUMI_EINVAL, "buffer: size is 0");
    sumi_buffer *b = calloc(1, sizeof *b);
    if (!b) return sumi_fail(err, SUMI_ENOMEM, "buffer: %zu bytes", sizeof *b);
    const sumi_status st = device->backend->alloc(device, &b->data, size_bytes, err);
    if (st) {
        free(b);
        return st;
    }
    b->device = device;
    b->size_bytes = size_bytes;
    *out = b;
    return SUMI_OK;
}

void sumi_buffer_free(sumi_buffer *buffer)
{
    if (!buffer) return;
    buffer->device->backend->release(buffer->device, buffer->data, buffer->size_bytes);
    free(buffer);
}

size_t sumi_buffer_size_bytes(const sumi_buffer *buffer) { return buffer ? buffer->size_bytes : 0; }

static sumi_status check_range(const sumi_buffer *buffer, const void *host, size_t offset_bytes, size_t n_bytes,
                               sumi_error *err)
{
    if (!buffer || (!host && n_bytes)) return sumi_fail(err, SUMI_EINVAL, "buffer: NULL buffer or memory");
    if (offset_bytes > buffer->size_bytes || n_bytes > buffer->size_bytes - offset_bytes)
        return sumi_fail(err, SUMI_EINVAL, "buffer: %zu bytes at offset %zu, it has %zu", n_bytes, offset_bytes,
                         buffer->size_bytes);
    return SUMI_OK;
}

sumi_status sumi_buffer_write(sumi_buffer *buffer, size_t offset_bytes, const void *src, size_t n_bytes,
                              sumi_error *err)
{
    const sumi_status st = check_range(buffer, src, offset_bytes, n_bytes, err);
    if (st == SUMI_OK && n_bytes)
        buffer->device->backend->write(buffer->device, buffer->data + offset_bytes, src, n_bytes);
    return st;
}

sumi_status sumi_buffer_read(const sumi_buffer *buffer, size_t offset_bytes, void *dst, size_t n_bytes,
                             sumi_error *err)
{
    const sumi_status st = check_range(buffer, dst, offset_bytes, n_bytes, err);
    if (st == SUMI_OK && n_bytes)
        buffer->device->backend->read(buffer->device, dst, buffer->data + offset_bytes, n_bytes);
    return st;
}

static sumi_status check_parts(const sumi_format *f, int32_t n_cols, const sumi_weight_part *parts, int32_t n_parts,
                               int64_t *n_rows, sumi_error *err)
{
    if (n_cols < 1 || n_cols % f->block_weights)
        return sumi_fail(err, SUMI_EINVAL, "weight: %" PRId32 " columns are not whole %s blocks of %" PRId32, n_cols,
                         f->name, f->block_weights);
    if (!parts || n_parts < 1) return sumi_fail(err, SUMI_EINVAL, "weight: no parts");
    for (int32_t i = 0; i < n_parts; i++) {
        if (!parts[i].data || parts[i].n_rows < 1)
            return sumi_fail(err, SUMI_EINVAL, "weight: part %" PRId32 " has %" PRId32 " rows%s", i, parts[i].n_rows,
                             parts[i].data ? "" : " and no data");
        *n_rows += parts[i].n_rows;
    }
    if (*n_rows > INT32_MAX)
        return sumi_fail(err, SUMI_EINVAL, "weight: %" PRId64 " rows, at most %" PRId32, *n_rows, INT32_MAX);
    return SUMI_OK;
}

sumi_status sumi_weight_new(sumi_weight **out, sumi_device *device, sumi_dtype type, int32_t n_cols,
                            const sumi_weight_part *parts, int32_t n_parts, sumi_error *err)
{
    if (!out) return sumi_fail(err, SUMI_EINVAL, "weight: out is NULL");
    *out = NULL;
    if (!device) return sumi_fail(err, SUMI_EINVAL, "weight: no device");
    const sumi_format *f = sumi_format_of(type);
    if (!f) return sumi_fail(err, SUMI_EINVAL, "weight: type %d is unknown", (int)type);
    int64_t n_rows = 0;
    sumi_status st = check_parts(f, n_cols, parts, n_parts, &n_rows, err);
    if (st) return st;
    const uint64_t row_bytes = sumi_format_bytes(f, (uint64_t)n_cols);
    uint64_t size_bytes;
    if (!sumi_mul_u64(row_bytes, (uint64_t)n_rows, &size_bytes))
        return sumi_fail(err, SUMI_EINVAL, "weight: %" PRId64 " rows of %" PRIu64 " bytes", n_rows, row_bytes);
    sumi_weight *w = calloc(1, sizeof *w);
    if (!w) return sumi_fail(err, SUMI_ENOMEM, "weight: %zu bytes", sizeof *w);
    *w = (sumi_weight){ .device = device,
                        .type = type,
                        .n_rows = (int32_t)n_rows,
                        .n_cols = n_cols,
                        .row_bytes = (size_t)row_bytes,
                        .size_bytes = (size_t)size_bytes };
    st = device->backend->alloc(device, &w->data, w->size_bytes, err);
    if (st) {
        free(w);
        return st;
    }
    device->backend->upload(w, parts, n_parts);
    *out = w;
    return SUMI_OK;
}

void sumi_weight_free(sumi_weight *weight)
{
    if (!weight) return;
    weight->device->backend->release(weight->device, weight->data, weight->size_bytes);
    free(weight);
}

int32_t sumi_weight_n_rows(const sumi_weight *weight) { return weight ? weight->n_rows : 0; }
int32_t sumi_weight_n_cols(const sumi_weight *weight) { return weight ? weight->n_cols : 0; }
sumi_dtype sumi_weight_dtype(const sumi_weight *weight) { return weight ? weight->type : SUMI_F32; }
size_t sumi_weight_size_bytes(const sumi_weight *weight) { return weight ? weight->size_bytes : 0; }
