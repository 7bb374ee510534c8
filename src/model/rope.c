/* Tables of rotation angles: plain, linearly scaled, or YaRN. Angles in double, cos and sin stored as float32. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "model/model.h"

#define PI 3.14159265358979323846

/* The pair index at which a frequency turns `turns` times over the original context. Source: YaRN, eq. 17 ff. */
static double correction_pair(const sumi_rope_config *r, double turns)
{
    return r->n_rot * log(r->original_max_tokens / (turns * 2 * PI)) / (2 * log(r->base));
}

/* How much of pair i keeps its own frequency (1) instead of the scaled one (0). */
static double extrapolated_share(const sumi_rope_config *r, int32_t i)
{
    if (!r->yarn) return 0;
    const double low = fmax(0, floor(correction_pair(r, r->yarn_beta_fast)));
    const double high = fmin(r->n_rot - 1, ceil(correction_pair(r, r->yarn_beta_slow)));
    const double ramp = fmin(1, fmax(0, (i - low) / fmax(0.001, high - low)));
    return r->yarn_ext_factor * (1 - ramp);
}

/* Radians per position of every pair. */
static void frequencies(const sumi_rope_config *r, double *out)
{
    for (int32_t i = 0; i < r->n_rot / 2; i++) {
        const double own = pow(r->base, -2.0 * i / r->n_rot), share = extrapolated_share(r, i);
        out[i] = own * r->freq_scale * (1 - share) + own * share;
    }
}

sumi_status sumi_rope_table_init(sumi_rope_table *table, const sumi_model *model, int32_t n_positions,
                                 sumi_error *err)
{
    const sumi_rope_config *r = &model->config.rope;
    const size_t n_pairs = (size_t)r->n_rot / 2, n = (size_t)n_positions * n_pairs;
    *table = (sumi_rope_table){ .n_positions = n_positions };
    double *frequency = calloc(n_pairs, sizeof *frequency);
    float *angles = malloc(2 * n_pairs * sizeof *angles);
    sumi_status st = frequency && angles ? SUMI_OK : sumi_fail(err, SUMI_ENOMEM, "rope: %zu pairs", n_pairs);
    if (st == SUMI_OK) st = sumi_buffer_new(&table->cos, model->device, n * sizeof(float), err);
    if (st == SUMI_OK) st = sumi_buffer_new(&table->sin, model->device, n * sizeof(float), err);
    if (st == SUMI_OK) frequencies(r, frequency);
    for (int32_t p = 0; st == SUMI_OK && p < n_positions; p++) {
        float *c = angles, *s = angles + n_pairs;
        for (size_t i = 0; i < n_pairs; i++) {
            c[i] = (float)(cos(p * frequency[i]) * r->magnitude);
            s[i] = (float)(sin(p * frequency[i]) * r->magnitude);
        }
        const size_t at = (size_t)p * n_pairs * sizeof(float);
        st = sumi_buffer_write(table->cos, at, c, n_pairs * sizeof(float), err);
        if (st == SUMI_OK) st = sumi_buffer_write(table->sin, at, s, n_pairs * sizeof(float), err);
    }
    free(frequency);
    free(angles);
    if (st) sumi_rope_table_deinit(table);
    return st;
}

void sumi_rope_table_deinit(sumi_rope_table *table)
{
    sumi_buffer_free(table->cos);
    sumi_buffer_free(table->sin);
    *table = (sumi_rope_table){ 0 };
}
