/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Hashes a field to an index, under the seed of the tables.
 *
 * The hash mixes all bits, multiplies by a random odd number, and takes the upper bits. For any two
 * values that were chosen without knowing the multiplier, at most 2 in `capacity` multipliers give
 * the same index if the capacity is a power of two (M. Dietzfelbinger, T. Hagerup, J. Katajainen,
 * M. Penttonen, "A Reliable Randomized Algorithm for the Closest-Pair Problem", Journal of
 * Algorithms 25, 1997), and at most 4 in `capacity` if it is not. So nobody can compute keys that
 * share a cell.
 *
 * The multiplier alone would not be enough: one collision would reveal a whole series of them, in
 * equal steps. The mix removes the equal steps, because it depends on the secret salt.
 *
 * This is not a keyed MAC. An observer may find out the seed by watching for long enough which keys
 * share a cell: by the time that answers take, or by the requests that are refused. The hash does
 * not hide the seed. It only forces an attacker to find it first.
 */
#ifndef STEPWISE_HASH_H
#define STEPWISE_HASH_H

#include "bpf/stepwise_c.h"
#include "stepwise_seed.h"

#ifdef __bpf__
#include <bpf/bpf_helpers.h>

/* The loader sets it before the verifier reads it. */
const struct stepwise_seed stepwise_seed SEC(STEPWISE_SEED_SECTION) = STEPWISE_SEED_PLAIN;
#else
/*
 * Each file that includes this has its own. The runtime sets the one of the daemon's steps. A
 * client has no cells and does not use it.
 */
static struct stepwise_seed stepwise_seed __attribute__((unused)) = STEPWISE_SEED_PLAIN;
#endif

/*
 * Returns the address of the seed, hidden from clang, which would otherwise use the value at
 * compile time. (It would do so even for a weak constant. For a volatile one, it would compute each
 * mix of a field again.)
 */
static __always_inline const struct stepwise_seed *stepwise_seed_here(void)
{
	const struct stepwise_seed *seed = &stepwise_seed;

	asm("" : "+r"(seed));
	return seed;
}

/* Two steps of the finalizer of MurmurHash3. The callers do the last multiplication. */
static __always_inline __u64 stepwise_mix(__u64 value)
{
	value ^= stepwise_seed_here()->salt;
	value ^= value >> 33;
	value *= 0xff51afd7ed558ccdULL;
	return value ^ value >> 33;
}

/* Returns an index below `capacity`. */
static __always_inline __u32 stepwise_hash(__u64 value, __u32 capacity)
{
	return (__u32)((stepwise_mix(value) * stepwise_seed_here()->upper >> 32) * capacity >> 32);
}

/* Returns an index that is independent of stepwise_hash(): it uses the other multiplier. */
static __always_inline __u32 stepwise_hash_lower(__u64 value, __u32 capacity)
{
	return (__u32)((stepwise_mix(value) * stepwise_seed_here()->lower >> 32) * capacity >> 32);
}

#endif
