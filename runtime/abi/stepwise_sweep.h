/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The packet that a sweep program is test-run on. It asks for one chunk of a table. The protocol's
 * own record (sweep_size bytes) follows, which the program reads and writes back. The program
 * returns XDP_PASS. It returns XDP_ABORTED if the packet has another size or the count is too
 * large.
 */
#ifndef STEPWISE_SWEEP_H
#define STEPWISE_SWEEP_H

#include <linux/types.h>

#define STEPWISE_SWEEP_CHUNK_MAX \
	4096 /* cells in one run: interrupts wait for some tens of microseconds at most */

struct stepwise_sweep {
	__u32 first; /* in: index of the first cell */
	/*
	 * In: number of cells to visit, at most STEPWISE_SWEEP_CHUNK_MAX; 0 only checks that the
	 * program runs.
	 */
	__u32 count;
	/*
	 * Out: cells done. If this is less than count, a cell was contended: continue from there.
	 */
	__u32 visited;
	__u32 continued; /* out: cells whose last section returned Continue */
};

#endif
