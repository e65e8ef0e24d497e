/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What clients of `just bench occ` have in common, whatever program they ask: parameters, outcomes,
 * and the keys of a client.
 */
#ifndef OCC_BENCH_NAMES_H
#define OCC_BENCH_NAMES_H

#include "bench_workload.h"

/*
 * The parameters besides those of bench_workload.h. OWN: how many of KEYS each client has to
 * itself; 0: it locks none.
 */
enum {
	BENCH_OWN = BENCH_FIRST + 1,
	BENCH_KEYS,
	BENCH_ABORTS
};

/* The outcomes in the order of bench.py. Those of locks replace those of the store's writes. */
enum {
	BENCH_GRANTED = BENCH_UPDATED,
	BENCH_SETTLED = BENCH_ABSENT
};

/* Returns a client's own keys in turn. Keys that follow each other are far apart. */
static __always_inline __u64 bench_own_key(__u64 client, __u64 turn, const __u64 *parameters)
{
	const __u64 own = parameters[BENCH_OWN];

	return bench_key((client * own + turn * 0x9e3779b1 % own) % parameters[BENCH_KEYS]);
}

#endif
