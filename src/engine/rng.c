#include "engine/rng.h"

static uint64_t splitmix64(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t rotate_left(uint64_t x, int n_bits) { return x << n_bits | x >> (64 - n_bits); }

void sumi_rng_seed(sumi_rng *rng, uint64_t seed)
{
    for (int i = 0; i < 4; i++) rng->state[i] = splitmix64(&seed);
}

uint64_t sumi_rng_next(sumi_rng *rng)
{
    uint64_t *s = rng->state;
    const uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    const uint64_t shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotate_left(s[3], 45);
    return result;
}

double sumi_rng_uniform(sumi_rng *rng) { return (double)(sumi_rng_next(rng) >> 11) * 0x1p-53; }
