/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Chooses what the clients of `just bench kv` ask for, whatever protocol they speak: see bench.py.
 */
#ifndef KV_BENCH_WORKLOAD_H
#define KV_BENCH_WORKLOAD_H

#include "slots.h"

#ifndef BENCH_VALUE_SIZE
#define BENCH_VALUE_SIZE 40 /* bytes, for clients without a layout */
#endif

/*
 * The parameters. LOADS: if not zero, insert that many numbers, starting with FIRST, instead of
 * asking for existing ones.
 */
enum {
	BENCH_UPDATES_OF_1024,
	BENCH_LOADS,
	BENCH_FIRST
};

/* The outcomes, in the order of bench.py. */
enum {
	BENCH_VALUE,
	BENCH_MISSING,
	BENCH_UPDATED,
	BENCH_ABSENT,
	BENCH_INSERTED,
	BENCH_REFUSED,
	BENCH_OTHER
};

enum bench_operation {
	BENCH_GET,
	BENCH_UPDATE,
	BENCH_INSERT
};

/*
 * Numbers from BENCH_CROWDED on are keys of crowded buckets. They form BENCH_GROUPS groups, and the
 * keys of a group share a bucket.
 */
#define BENCH_CROWDED (1ULL << 40)
#define BENCH_GROUPS 32768

/*
 * Returns the key with the given mix: runs the finalizer of MurmurHash3 backwards. The benchmark's
 * servers use the plain seed, with which the upper half of the mix chooses the bucket.
 */
static __always_inline __u64 bench_key_of_mix(__u64 mix)
{
	mix ^= mix >> 33;
	mix *= 0x9cb4b2f8129337dbULL;
	mix ^= mix >> 33;
	mix *= 0x4f74430c22a54005ULL;
	return mix ^ mix >> 33;
}

static __always_inline __u64 bench_key(__u64 number)
{
	__u64 group, upper, lower;

	if (number < BENCH_CROWDED)
		return number + 1;
	group = number % BENCH_GROUPS;
	upper = (__u32)(group * 0x9e3779b1);
	lower = (__u32)((__u32)number * 0x85ebca6bU);
	return bench_key_of_mix(upper << 32 | lower);
}

static __always_inline bool bench_is_loaded(const struct bench_slot *slot, const __u64 *parameters)
{
	return parameters[BENCH_LOADS] && bench_share(slot) >= parameters[BENCH_LOADS];
}

static __always_inline enum bench_operation bench_choose(struct bench_slot *slot,
							 const __u64 *parameters, __u64 *key)
{
	if (parameters[BENCH_LOADS]) {
		*key = bench_key(parameters[BENCH_FIRST] + bench_share(slot));
		return BENCH_INSERT;
	}
	*key = bench_key(bench_draw(slot));
	return (bench_random(slot) >> 32) % 1024 < parameters[BENCH_UPDATES_OF_1024] ?
		       BENCH_UPDATE :
		       BENCH_GET;
}

#endif
