/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Indices that are hashed from a field, under the seed of the tables.
 *
 * A mix of all bits, then a multiplication by a random odd number of which the upper bits are
 * taken: for any two values, chosen without knowing the multiplier, the indices are the same for at
 * most 2 in `capacity` multipliers where that is a power of two (M. Dietzfelbinger, T. Hagerup, J.
 * Katajainen, M. Penttonen, "A Reliable Randomized Algorithm for the Closest-Pair Problem", Journal
 * of Algorithms 25, 1997), and at most 4 in `capacity` for any other. So nobody can compute keys
 * that share a cell. Multipliers alone would give away with one collision a whole series of them,
 * in equal steps; behind the mix of what only the salt's owner knows the steps are not equal.
 *
 * It is no keyed MAC: whoever sees for long enough which keys share a cell, by the time that
 * answers take or by those that are refused, may find the seed out. It does not hide it, it only
 * has to be found first.
 */
#ifndef STEPWISE_HASH_H
#define STEPWISE_HASH_H

#include "bpf/stepwise_c.h"
#include "stepwise_seed.h"

#ifdef __bpf__
#include <bpf/bpf_helpers.h>

/* The loader writes it before the verifier sees it. */
const struct stepwise_seed stepwise_seed SEC(STEPWISE_SEED_SECTION) = STEPWISE_SEED_PLAIN;
#else
/* Of this file's user alone. The runtime sets that of the daemon's steps; a client has no cells,
 * and no use for it. */
static struct stepwise_seed stepwise_seed __attribute__((unused)) = STEPWISE_SEED_PLAIN;
#endif

/*
 * Where it is, which clang must not know: it would use the value that it was compiled with. (It
 * would do so even of a weak constant; of a volatile one it would compute every mix of a field
 * again.)
 */
static __always_inline const struct stepwise_seed *stepwise_seed_here(void)
{
	const struct stepwise_seed *seed = &stepwise_seed;

	asm("" : "+r"(seed));
	return seed;
}

/* Of one value another: two steps of the finalizer of MurmurHash3, of which the last multiplication
 * is the callers'. */
static __always_inline __u64 stepwise_mix(__u64 value)
{
	value ^= stepwise_seed_here()->salt;
	value ^= value >> 33;
	value *= 0xff51afd7ed558ccdULL;
	return value ^ value >> 33;
}

/* Index below `capacity`. */
static __always_inline __u32 stepwise_hash(__u64 value, __u32 capacity)
{
	return (__u32)((stepwise_mix(value) * stepwise_seed_here()->upper >> 32) * capacity >> 32);
}

/* An index that knows nothing of the other: its multiplier is another one. */
static __always_inline __u32 stepwise_hash_lower(__u64 value, __u32 capacity)
{
	return (__u32)((stepwise_mix(value) * stepwise_seed_here()->lower >> 32) * capacity >> 32);
}

#endif
