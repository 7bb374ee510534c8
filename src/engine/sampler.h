/* What the engine needs of a sampler beyond the public functions. Private to the engine. */
#ifndef SUMI_ENGINE_SAMPLER_H
#define SUMI_ENGINE_SAMPLER_H

#include "sumi.h"

int32_t sumi_sampler_vocab(const sumi_sampler *sampler); /* logits it reads from a row */

#endif
