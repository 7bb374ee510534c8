/* The encoder: records ops, checked, into a list that a device runs later. */
#include "device/device.h"

#include <stdlib.h>
#include <string.h>

sumi_status sumi_encoder_new(sumi_encoder **out, sumi_device *device, sumi_error *err)
{
    if (!out) return sumi_fail(err, SUMI_EINVAL, "encoder: out is NULL");
    *out = NULL;
    if (!device) return sumi_fail(err, SUMI_EINVAL, "encoder: no device");
    sumi_encoder *e = calloc(1, sizeof *e);
    if (!e) return sumi_fail(err, SUMI_ENOMEM, "encoder: %zu bytes", sizeof *e);
    e->device = device;
    *out = e;
    return SUMI_OK;
}

void sumi_encoder_free(sumi_encoder *encoder)
{
    if (!encoder) return;
    free(encoder->commands);
    free(encoder->args);
    free(encoder);
}

void sumi_encoder_reset(sumi_encoder *encoder)
{
    if (!encoder) return;
    encoder->n_commands = 0;
    encoder->args_bytes = 0;
    encoder->scratch_needed = 0;
    encoder->error.status = SUMI_OK;
    encoder->run_error.status = SUMI_OK;
}

/* Room for `needed` items in a growing array; 1.5 times as many as now, so that appending is linear. */
static bool reserve(void **array, size_t *max_items, size_t needed, size_t item_bytes)
{
    if (needed <= *max_items) return true;
    const size_t n = needed + *max_items / 2 + 64;
    void *grown = realloc(*array, n * item_bytes);
    if (!grown) return false;
    *array = grown;
    *max_items = n;
    return true;
}

static sumi_status append(sumi_encoder *e, sumi_op_id op, const void *args)
{
    const size_t n_bytes = (sumi_ops[op].args_bytes + 15) / 16 * 16;
    if (!reserve((void **)&e->commands, &e->max_commands, e->n_commands + 1, sizeof *e->commands) ||
        !reserve((void **)&e->args, &e->max_args_bytes, e->args_bytes + n_bytes, 1))
        return sumi_fail(&e->error, SUMI_ENOMEM, "encoder: no memory for op %zu", e->n_commands);
    memcpy(e->args + e->args_bytes, args, sumi_ops[op].args_bytes);
    e->commands[e->n_commands++] = (sumi_command){ .op = op, .args_at = e->args_bytes };
    e->args_bytes += n_bytes;
    const size_t scratch = e->device->backend->scratch_bytes(e->device, op, args);
    if (scratch > e->scratch_needed) e->scratch_needed = scratch;
    return SUMI_OK;
}

static sumi_status record(sumi_encoder *e, sumi_op_id op, const void *args)
{
    if (!e) return SUMI_EINVAL;
    if (e->error.status) return e->error.status; /* the first error is the one to report */
    if (e->is_submitted)
        return sumi_fail(&e->error, SUMI_EINVAL, "%s: recorded between submit and wait", sumi_ops[op].name);
    if (!args) return sumi_fail(&e->error, SUMI_EINVAL, "%s: args is NULL", sumi_ops[op].name);
    const sumi_status st = sumi_ops[op].check(args, &e->error);
    return st ? st : append(e, op, args);
}

#define OP(name, NAME)                                                          \
    sumi_status sumi_op_##name(sumi_encoder *e, const sumi_##name##_args *args) \
    {                                                                           \
        return record(e, SUMI_OP_##NAME, args);                                 \
    }
#include "kernels/ops.def"
#undef OP

sumi_status sumi_submit(sumi_encoder *encoder, sumi_error *err)
{
    if (!encoder) return sumi_fail(err, SUMI_EINVAL, "submit: no encoder");
    if (encoder->error.status) {
        if (err) *err = encoder->error;
        return encoder->error.status;
    }
    if (encoder->is_submitted) return sumi_fail(err, SUMI_EINVAL, "submit: the last pass was not waited for");
    encoder->run_error.status = SUMI_OK;
    const sumi_status st = encoder->device->backend->submit(encoder->device, encoder, err);
    encoder->is_submitted = st == SUMI_OK;
    return st;
}

sumi_status sumi_wait(sumi_encoder *encoder, sumi_error *err)
{
    if (!encoder) return sumi_fail(err, SUMI_EINVAL, "wait: no encoder");
    if (!encoder->is_submitted) return sumi_fail(err, SUMI_EINVAL, "wait: nothing was submitted");
    encoder->is_submitted = false;
    return encoder->device->backend->wait(encoder->device, encoder, err);
}
