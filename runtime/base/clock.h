/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The clock that durations are measured with, and that the steps' time is computed from. */
#ifndef CLOCK_H
#define CLOCK_H

#include <time.h>
#include <linux/types.h>

static inline __u64 clock_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static inline double clock_now_seconds(void)
{
	return clock_now_ns() / 1e9;
}

#endif
