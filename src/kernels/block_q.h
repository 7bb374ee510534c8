/* What the integer kernels need to know of the block formats (layouts: src/quant). */
#ifndef SUMI_KERNELS_BLOCK_Q_H
#define SUMI_KERNELS_BLOCK_Q_H

#include <string.h>

#include "base/half.h"

enum { Q1_0_BYTES = 18 }; /* fp16 scale, 16 bytes of signs */

#define SUMI_Q8_TINY 1e-30f /* a group whose largest value is below it counts as zero: 127 / m stays finite */

/* 2-bit formats differ in where things stand and in what code 3 means. */
typedef struct q2_layout {
    int32_t weights, bytes; /* per block */
    int32_t codes, scale;   /* byte offsets in a block */
    int32_t three;          /* code 3 stands for this times the scale */
} q2_layout;

#define Q2_0_LAYOUT ((q2_layout){ .weights = 64, .bytes = 18, .codes = 2, .scale = 0, .three = 2 })
#define Q2_0_G128_LAYOUT ((q2_layout){ .weights = 128, .bytes = 34, .codes = 2, .scale = 0, .three = 2 })
#define Q2_0_G128_TAIL_LAYOUT ((q2_layout){ .weights = 128, .bytes = 34, .codes = 0, .scale = 32, .three = 0 })

static inline float load_half(const uint8_t *p)
{
    uint16_t h;
    memcpy(&h, p, sizeof h);
    return sumi_half_to_float(h);
}

#endif
