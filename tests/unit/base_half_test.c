/* fp16 and bf16 conversions against the compiler's own. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdbool.h>

#include "base/half.h"

static bool is_nan_half(uint16_t h) { return (h & 0x7c00) == 0x7c00 && (h & 0x3ff); }

#if defined(__FLT16_MAX__)

static float compiler_half_to_float(uint16_t h)
{
    _Float16 x;
    memcpy(&x, &h, sizeof x);
    return (float)x;
}

static uint16_t compiler_float_to_half(float f)
{
    const _Float16 x = (_Float16)f;
    uint16_t h;
    memcpy(&h, &x, sizeof h);
    return h;
}

static void widening_is_exact_for_every_half(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 0x10000; h++) {
        const float got = sumi_half_to_float((uint16_t)h);
        if (is_nan_half((uint16_t)h)) {
            assert_true(isnan(got));
            continue;
        }
        assert_int_equal(sumi_float_bits(got), sumi_float_bits(compiler_half_to_float((uint16_t)h)));
    }
}

static void assert_narrows_like_compiler(float f)
{
    if (sumi_float_to_half(f) != compiler_float_to_half(f))
        fail_msg("%a: half %04x, the compiler's is %04x", (double)f, sumi_float_to_half(f),
                 compiler_float_to_half(f));
}

/* Every half, the middle between it and the next, and the floats around both: all ties, subnormals and the
 * step to infinity. */
static void narrowing_rounds_to_nearest_even(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 0x7c00; h++) {
        const double low = (double)sumi_half_to_float((uint16_t)h);
        const double high = h + 1 == 0x7c00 ? 65536.0 : (double)sumi_half_to_float((uint16_t)(h + 1));
        const float points[] = { (float)low, (float)((low + high) / 2) };
        for (size_t i = 0; i < 2; i++) {
            for (int sign = 1; sign >= -1; sign -= 2) {
                assert_narrows_like_compiler((float)sign * points[i]);
                assert_narrows_like_compiler((float)sign * nextafterf(points[i], 0.0f));
                assert_narrows_like_compiler((float)sign * nextafterf(points[i], INFINITY));
            }
        }
    }
}

static void narrowing_agrees_over_all_exponents(void **state)
{
    (void)state;
    for (uint64_t bits = 0; bits < UINT64_C(1) << 32; bits += 4093) { /* odd step: all low bits occur */
        const float f = sumi_bits_float((uint32_t)bits);
        if (!isnan(f)) assert_narrows_like_compiler(f);
    }
}

#endif

static void every_half_survives_the_round_trip(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 0x10000; h++) {
        const uint16_t back = sumi_float_to_half(sumi_half_to_float((uint16_t)h));
        if (is_nan_half((uint16_t)h))
            assert_true(is_nan_half(back));
        else
            assert_int_equal(back, h);
    }
}

static void special_values_of_half(void **state)
{
    (void)state;
    assert_int_equal(sumi_float_to_half(0.0f), 0x0000);
    assert_int_equal(sumi_float_to_half(-0.0f), 0x8000);
    assert_int_equal(sumi_float_to_half(1.0f), 0x3c00);
    assert_int_equal(sumi_float_to_half(65504.0f), 0x7bff);
    assert_int_equal(sumi_float_to_half(65519.996f), 0x7bff);
    assert_int_equal(sumi_float_to_half(65520.0f), 0x7c00); /* the tie goes to infinity */
    assert_int_equal(sumi_float_to_half(-INFINITY), 0xfc00);
    assert_int_equal(sumi_float_to_half(0x1p-24f), 0x0001);
    assert_int_equal(sumi_float_to_half(0x1p-25f), 0x0000); /* tie to even */
    assert_int_equal(sumi_float_to_half(0x1.8p-24f), 0x0002);
    assert_true(is_nan_half(sumi_float_to_half(sumi_bits_float(0x7f800001)))); /* payload lost, not the NaN */
    assert_true(isinf(sumi_half_to_float(0x7c00)));
    assert_true(sumi_half_to_float(0x0001) == 0x1p-24f);
}

/* Nearest bf16 by its definition, in double: of the two neighbours the closer, of equals the even one. */
static uint16_t nearest_bf16(float f)
{
    const uint32_t bits = sumi_float_bits(f);
    const uint16_t low = (uint16_t)(bits >> 16);
    const uint16_t high = (uint16_t)(low + 1);
    const double above = (high & 0x7fff) == 0x7f80 ? copysign(0x1p128, (double)f) : (double)sumi_bf16_to_float(high);
    const double to_low = fabs((double)f - (double)sumi_bf16_to_float(low)), to_high = fabs(above - (double)f);
    if (to_low == to_high) return low & 1 ? high : low;
    return to_low < to_high ? low : high;
}

static void bf16_rounds_to_nearest_even(void **state)
{
    (void)state;
    for (uint64_t bits = 0; bits < UINT64_C(1) << 32; bits += 0x3fff) {
        const float f = sumi_bits_float((uint32_t)bits);
        if (!isfinite(f)) continue;
        assert_int_equal(sumi_float_to_bf16(f), nearest_bf16(f));
    }
    for (uint32_t high = 0; high < 0x10000; high++) { /* every tie */
        const float f = sumi_bits_float(high << 16 | 0x8000);
        if (isfinite(f)) assert_int_equal(sumi_float_to_bf16(f), nearest_bf16(f));
    }
}

static void bf16_widens_exactly_and_keeps_nan_and_inf(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 0x10000; h++) {
        const float f = sumi_bf16_to_float((uint16_t)h);
        assert_int_equal(sumi_float_bits(f), h << 16);
        if (!isnan(f)) assert_int_equal(sumi_float_to_bf16(f), h);
    }
    assert_int_equal(sumi_float_to_bf16(sumi_bits_float(0x7f800001)), 0x7fc0);
    assert_int_equal(sumi_float_to_bf16(sumi_bits_float(0x7f7fffff)), 0x7f80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#if defined(__FLT16_MAX__)
        cmocka_unit_test(widening_is_exact_for_every_half),
        cmocka_unit_test(narrowing_rounds_to_nearest_even),
        cmocka_unit_test(narrowing_agrees_over_all_exponents),
#endif
        cmocka_unit_test(every_half_survives_the_round_trip),
        cmocka_unit_test(special_values_of_half),
        cmocka_unit_test(bf16_rounds_to_nearest_even),
        cmocka_unit_test(bf16_widens_exactly_and_keeps_nan_and_inf),
    };
    return cmocka_run_group_tests_name("half", tests, NULL, NULL);
}
