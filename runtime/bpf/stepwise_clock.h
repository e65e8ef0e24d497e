/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The clock of env.now: CLOCK_MONOTONIC. It lags by at most the lag of the coarse clock plus a
 * jiffy or two.
 *
 * Where returns are guarded against speculation, one call of the clock costs more than all the rest
 * of a short step. So the clock is called once in a jiffy. The verifier inlines the read of the
 * jiffies.
 */
#ifndef STEPWISE_CLOCK_H
#define STEPWISE_CLOCK_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "bpf/stepwise_c.h"

/*
 * Returns the lower 32 bits of the time in ticks of 2^shift nanoseconds. `cache` holds the last
 * tick and its jiffy; it starts as zero.
 */
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
