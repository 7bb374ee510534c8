/* Random numbers for sampling: xoshiro256**, integers only, so one seed gives one sequence on every machine.
 * Source: Blackman & Vigna 2021, "Scrambled linear pseudorandom number generators". */
#ifndef SUMI_ENGINE_RNG_H
#define SUMI_ENGINE_RNG_H

#include <stdint.h>

typedef struct sumi_rng {
    uint64_t state[4]; /* not all zero */
} sumi_rng;

/* Fill the state from a seed, any value, with SplitMix64 (Steele, Lea & Flood 2014) as the authors advise. */
void sumi_rng_seed(sumi_rng *rng, uint64_t seed);

uint64_t sumi_rng_next(sumi_rng *rng);

/* Uniform in [0, 1): a multiple of 2^-53. */
double sumi_rng_uniform(sumi_rng *rng);

#endif
