/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The clock of env.now: CLOCK_MONOTONIC, behind by no more than the coarse clock
 * is and a jiffy or two. A call costs more than all the rest of a short step where
 * returns are guarded against speculation; so the time is asked for once in a
 * jiffy, and the jiffies are read in place (the verifier inlines it).
 */
#ifndef STEPWISE_CLOCK_H
#define STEPWISE_CLOCK_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "bpf/stepwise_c.h"

/* Ticks of 2^shift nanoseconds, 32 bits of them. `cache` is the tick, and for which jiffy; zero to
 * begin with. */
static __always_inline __u32 stepwise_now(__u64 *cache, __u32 shift)
{
	const __u32 jiffy = (__u32)bpf_jiffies64() << 1 | 1;
	__u64 known = *(volatile __u64 *)cache;

	if ((__u32)known != jiffy) {
		known = bpf_ktime_get_coarse_ns() >> shift << 32 | jiffy;
		*(volatile __u64 *)cache = known;
	}
	return known >> 32;
}

#endif
