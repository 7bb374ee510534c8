/* Reading an architecture's tensors: by name and shape, with every mismatch named. */
#ifndef SUMI_MODEL_LOAD_H
#define SUMI_MODEL_LOAD_H

#include "model/model.h"

struct sumi_loader {
    sumi_model *model;
    const sumi_model_options *options;
    uint64_t done_bytes, total_bytes; /* of weights, for progress */
    size_t vector_bytes;              /* used so far of model->vectors */
    sumi_error *err;
};

enum { SUMI_NO_LAYER = -1, SUMI_MAX_PARTS = 3 };

typedef struct sumi_part_name {
    const char *name;
    int32_t n_rows;
} sumi_part_name;

/* Tensors of a layer are called "blk.I.NAME"; SUMI_NO_LAYER: "NAME". */
bool sumi_has_tensor(const sumi_loader *l, int32_t i_layer, const char *name);

/* Refuse tensors that would change the results if they were ignored, and that no architecture here reads: biases
 * and frequency divisors. Other unknown tensors are ignored, as files carry harmless ones. */
sumi_status sumi_refuse_unknown_terms(const sumi_loader *l);

/* n floats (F32, F16 or BF16 in the file) into the model's vector buffer. */
sumi_status sumi_load_vector(sumi_loader *l, sumi_view *out, int32_t i_layer, const char *name, int32_t n);

/* Matrices of n_cols columns, stacked in order into one weight. If their types differ they cannot be fused:
 * SUMI_EUNSUPPORTED naming both. */
sumi_status sumi_load_matrix(sumi_loader *l, sumi_weight **out, int32_t i_layer, const sumi_part_name *parts,
                             int32_t n_parts, int32_t n_cols);

/* Hyper-parameters from the file's keys; all but `vocab`, which is the number of rows of token_embd. */
sumi_status sumi_config_read(sumi_config *config, const sumi_gguf *g, const char *arch, sumi_error *err);

/* The part of a pool that belongs to one layer. */
sumi_view sumi_kv_layer(const sumi_kv_pool *pool, sumi_buffer *buffer, const sumi_config *config, int32_t i_layer);

#endif
