/* A device: one struct of functions. Adding a backend is adding a file that fills it in. */
#ifndef SUMI_DEVICE_DEVICE_H
#define SUMI_DEVICE_DEVICE_H

#include "kernels/op.h"

typedef struct sumi_backend {
    void (*free)(sumi_device *device);
    sumi_status (*alloc)(sumi_device *device, uint8_t **data, size_t size_bytes, sumi_error *err); /* zeroed */
    void (*release)(sumi_device *device, uint8_t *data, size_t size_bytes);
    void (*write)(sumi_device *device, uint8_t *dst, const void *src, size_t n_bytes);
    void (*read)(sumi_device *device, void *dst, const uint8_t *src, size_t n_bytes);
    /* Fill weight->data, already allocated, from its parts. */
    void (*upload)(sumi_weight *weight, const sumi_weight_part *parts, int32_t n_parts);
    size_t (*scratch_bytes)(const sumi_device *device, sumi_op_id op, const void *args);
    sumi_status (*submit)(sumi_device *device, sumi_encoder *encoder, sumi_error *err);
    sumi_status (*wait)(sumi_device *device, sumi_encoder *encoder, sumi_error *err);
} sumi_backend;

struct sumi_device {
    const sumi_backend *backend;
    char description[96];
    int32_t n_threads;
};

sumi_status sumi_cpu_device_open(sumi_device **out, const sumi_device_options *options, sumi_error *err);

/* ---- Encoder: a growing list of records ---------------------------------------------------------------- */

typedef struct sumi_command {
    sumi_op_id op;
    size_t args_at; /* into args, 16-byte aligned */
} sumi_command;

struct sumi_encoder {
    sumi_device *device;
    sumi_command *commands;
    size_t n_commands, max_commands;
    uint8_t *args;
    size_t args_bytes, max_args_bytes;
    size_t scratch_needed; /* by the largest op recorded */
    sumi_error error;      /* first failure while recording */
    sumi_error run_error;  /* failure of the submitted pass, reported by wait */
    bool is_submitted;
};

#endif
