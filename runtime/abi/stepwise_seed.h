/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The seed of the hashes that select cells. The loader draws a seed for new tables and pins it
 * beside them. Everything that accesses these tables uses it: the programs as a constant, userspace
 * from the pin.
 */
#ifndef STEPWISE_SEED_H
#define STEPWISE_SEED_H

#include <linux/types.h>

struct stepwise_seed {
	__u64 salt;  /* mixed into the value before anything else */
	__u64 upper; /* odd; the multiplier of stepwise_hash() */
	__u64 lower; /* odd; the multiplier of stepwise_hash_lower() */
};

/* The seed of programs that tests and benchmarks run without the loader. It is not secret. */
#define STEPWISE_SEED_PLAIN \
	{ .salt = 0, .upper = 0xc4ceb9fe1a85ec53ULL, .lower = 0x9e3779b97f4a7c15ULL }

/* The map of a compiled object that holds the seed, and nothing else. */
#define STEPWISE_SEED_SECTION ".rodata.seed"

#endif
