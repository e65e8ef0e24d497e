/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The seed of the hashes that choose cells. The loader draws one with fresh tables and pins it
 * beside them, and whoever works on these tables has the same: the programs as a constant,
 * userspace from the pin.
 */
#ifndef STEPWISE_SEED_H
#define STEPWISE_SEED_H

#include <linux/types.h>

struct stepwise_seed {
	__u64 salt;  /* goes into what is hashed before anything else */
	__u64 upper; /* odd; the multiplier of stepwise_hash() */
	__u64 lower; /* odd; that of stepwise_hash_lower() */
};

/* Of programs that were not loaded by the loader, as tests and benchmarks run them. Everybody knows
 * it. */
#define STEPWISE_SEED_PLAIN \
	{ .salt = 0, .upper = 0xc4ceb9fe1a85ec53ULL, .lower = 0x9e3779b97f4a7c15ULL }

/* The map of a compiled object that has it, and nothing else. */
#define STEPWISE_SEED_SECTION ".rodata.seed"

#endif
