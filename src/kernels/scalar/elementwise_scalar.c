#include "kernels/exp.h"
#include "kernels/variants.h"

#define VARIANT(name) name##_scalar
#include "kernels/elementwise.inc"
