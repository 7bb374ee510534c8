/* compare_f32 EXPECTED FIRST ACTUAL TOLERANCE - are the floats of ACTUAL those of EXPECTED from number FIRST on?
 * The relative error in the 2-norm may be TOLERANCE. Both files hold native float32. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Everything in a file from float `first` on; *n floats, malloc'ed. NULL: a message is out. */
static float *read_floats(const char *path, long first, size_t *n)
{
    FILE *file = fopen(path, "rb");
    float *floats = NULL;
    long n_bytes = -1;
    if (file && !fseek(file, 0, SEEK_END)) n_bytes = ftell(file) - first * (long)sizeof(float);
    if (n_bytes > 0 && n_bytes % (long)sizeof(float) == 0) floats = malloc((size_t)n_bytes);
    if (floats) {
        *n = (size_t)n_bytes / sizeof(float);
        if (fseek(file, first * (long)sizeof(float), SEEK_SET) || fread(floats, sizeof(float), *n, file) != *n) {
            free(floats);
            floats = NULL;
        }
    }
    if (!floats) fprintf(stderr, "%s: no float32 numbers from %ld on\n", path, first);
    if (file) fclose(file);
    return floats;
}

/* The 2-norm of the difference over the 2-norm of what is expected. */
static int compare(const float *expected, const float *actual, size_t n, double tolerance)
{
    double difference = 0, magnitude = 0;
    for (size_t i = 0; i < n; i++) {
        const double d = (double)actual[i] - expected[i];
        difference += d * d;
        magnitude += (double)expected[i] * expected[i];
    }
    const double error = sqrt(difference / magnitude);
    if (error <= tolerance) return 0; /* false for NaN */
    fprintf(stderr, "relative error %.3g, %.3g allowed\n", error, tolerance);
    return 1;
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: compare_f32 EXPECTED FIRST ACTUAL TOLERANCE\n");
        return 2;
    }
    size_t n_expected = 0, n_actual = 0;
    float *expected = read_floats(argv[1], strtol(argv[2], NULL, 10), &n_expected);
    float *actual = read_floats(argv[3], 0, &n_actual);
    int status = 2;
    if (expected && actual && n_actual > n_expected)
        fprintf(stderr, "%zu floats, only %zu expected\n", n_actual, n_expected);
    else if (expected && actual)
        status = compare(expected, actual, n_actual, strtod(argv[4], NULL));
    free(expected);
    free(actual);
    return status;
}
