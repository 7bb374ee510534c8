#include "kernels/exp.h"
#include "kernels/variants.h"

#define VARIANT(name) name##_avx2
#include "kernels/elementwise.inc"
