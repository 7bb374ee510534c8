/* Operations: how their arguments are checked and how the CPU runs them. Each op_NAME.c holds one. */
#ifndef SUMI_KERNELS_OP_H
#define SUMI_KERNELS_OP_H

#include "base/pool.h"
#include "base/status.h"
#include "kernels/kernels.h"

struct sumi_buffer {
    sumi_device *device;
    uint8_t *data; /* host memory on the CPU device */
    size_t size_bytes;
};

struct sumi_weight {
    sumi_device *device;
    sumi_dtype type;
    int32_t n_rows, n_cols;
    size_t row_bytes, size_bytes;
    uint8_t *data; /* CPU layout: rows as in the file, 64-byte aligned start */
};

typedef enum sumi_op_id {
#define OP(name, NAME) SUMI_OP_##NAME,
#include "kernels/ops.def"
#undef OP
    SUMI_N_OPS
} sumi_op_id;

/* What a thread knows while it runs an op. */
typedef struct sumi_run {
    const sumi_kernel_set *k;
    sumi_pool *pool;
    int32_t i_thread, n_threads;
    int64_t i_command;            /* place in the pass */
    uint8_t *scratch;             /* shared, as many bytes as the op asked for */
    struct sumi_run_error *error; /* first failure of the pass */
} sumi_run;

/* Record a failure found while running (an id out of range); the first one of a pass wins. */
__attribute__((format(printf, 3, 4))) void sumi_run_fail(const sumi_run *run, sumi_status status, const char *fmt,
                                                         ...);

typedef struct sumi_op {
    const char *name;
    size_t args_bytes;
    sumi_status (*check)(const void *args, sumi_error *err);
    size_t (*scratch)(const void *args, int32_t n_threads);
    void (*run)(const void *args, const sumi_run *run);
} sumi_op;

extern const sumi_op sumi_ops[SUMI_N_OPS];

#define OP(name, NAME)                                                \
    sumi_status sumi_check_##name(const void *args, sumi_error *err); \
    size_t sumi_scratch_##name(const void *args, int32_t n_threads);  \
    void sumi_run_##name(const void *args, const sumi_run *run);
#include "kernels/ops.def"
#undef OP

/* ---- Checks, each naming the op, the argument and both numbers --------------------------------------- */

/* `view` must hold n_items items of item_bytes bytes, at an offset that is a multiple of item_bytes. */
sumi_status sumi_check_view(const char *op, const char *name, sumi_view view, int64_t n_items, int32_t item_bytes,
                            sumi_error *err);
sumi_status sumi_check_min(const char *op, const char *name, int64_t value, int64_t min, sumi_error *err);

/* Product of two counts, neither negative, for the checks: INT64_MAX, which no buffer holds, when it does not fit. */
static inline int64_t sumi_items(int64_t a, int64_t b)
{
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

static inline bool sumi_view_is_absent(sumi_view v) { return v.buffer == NULL; }
static inline float *sumi_floats(sumi_view v) { return v.buffer ? (float *)(v.buffer->data + v.offset_bytes) : NULL; }
static inline uint32_t *sumi_u32s(sumi_view v) { return (uint32_t *)(v.buffer->data + v.offset_bytes); }

/* Do the byte ranges [a, a + a_bytes) and [b, b + b_bytes) of two views meet? */
static inline bool sumi_views_overlap(sumi_view a, uint64_t a_bytes, sumi_view b, uint64_t b_bytes)
{
    return a.buffer && a.buffer == b.buffer && a.offset_bytes < b.offset_bytes + b_bytes &&
           b.offset_bytes < a.offset_bytes + a_bytes;
}

#endif
