#include "kernels/op.h"

#include <inttypes.h>

#include "base/checked.h"

const sumi_op sumi_ops[SUMI_N_OPS] = {
#define OP(name, NAME) \
    [SUMI_OP_##NAME] = { #name, sizeof(sumi_##name##_args), sumi_check_##name, sumi_scratch_##name, sumi_run_##name },
#include "kernels/ops.def"
#undef OP
};

sumi_status sumi_check_view(const char *op, const char *name, sumi_view view, int64_t n_items, int32_t item_bytes,
                            sumi_error *err)
{
    if (!view.buffer) return sumi_fail(err, SUMI_EINVAL, "%s: %s: no buffer", op, name);
    uint64_t n_bytes, end;
    if (n_items < 0 || !sumi_mul_u64((uint64_t)n_items, (uint64_t)item_bytes, &n_bytes) ||
        !sumi_add_u64(n_bytes, view.offset_bytes, &end) || end > view.buffer->size_bytes)
        return sumi_fail(err, SUMI_EINVAL,
                         "%s: %s: %" PRId64 " items of %" PRId32 " bytes at offset %zu, the buffer has %zu bytes", op,
                         name, n_items, item_bytes, view.offset_bytes, view.buffer->size_bytes);
    if (view.offset_bytes % (size_t)item_bytes)
        return sumi_fail(err, SUMI_EINVAL, "%s: %s: offset %zu is not a multiple of %" PRId32, op, name,
                         view.offset_bytes, item_bytes);
    return SUMI_OK;
}

sumi_status sumi_check_min(const char *op, const char *name, int64_t value, int64_t min, sumi_error *err)
{
    if (value >= min) return SUMI_OK;
    return sumi_fail(err, SUMI_EINVAL, "%s: %s is %" PRId64 ", must be at least %" PRId64, op, name, value, min);
}
