#include <inttypes.h>

#include "kernels/op.h"
#include "quant/quant.h"

sumi_status sumi_check_embed(const void *args, sumi_error *err)
{
    const sumi_embed_args *a = args;
    sumi_status st;
    if (!a->table) return sumi_fail(err, SUMI_EINVAL, "embed: table: no weight");
    if ((st = sumi_check_min("embed", "n_tokens", a->n_tokens, 1, err))) return st;
    if ((st = sumi_check_view("embed", "ids", a->ids, a->n_tokens, 4, err))) return st;
    return sumi_check_view("embed", "y", a->y, (int64_t)a->n_tokens * a->table->n_cols, 4, err);
}

size_t sumi_scratch_embed(const void *args, int32_t n_threads)
{
    (void)args, (void)n_threads;
    return 0;
}

void sumi_run_embed(const void *args, const sumi_run *run)
{
    const sumi_embed_args *a = args;
    const sumi_weight *w = a->table;
    int64_t begin, end;
    sumi_pool_share(a->n_tokens, 1, run->i_thread, run->n_threads, &begin, &end);
    for (int64_t t = begin; t < end; t++) {
        const uint32_t id = sumi_u32s(a->ids)[t];
        if (id >= (uint32_t)w->n_rows) {
            sumi_run_fail(run, SUMI_EINVAL,
                          "embed: token %" PRId64 " has id %" PRIu32 ", the table has %" PRId32 " rows", t, id,
                          w->n_rows);
            return;
        }
        sumi_format_of(w->type)->to_float(sumi_floats(a->y) + t * w->n_cols, w->data + id * w->row_bytes, w->n_cols);
    }
}
