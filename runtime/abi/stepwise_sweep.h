/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The packet that a sweep program is test-run on: a request for one chunk of a
 * table, followed by the protocol's own record (sweep_size bytes), which the
 * program reads and writes back. The program returns XDP_PASS, or XDP_ABORTED
 * for a packet of another size or a count that is too large.
 */
#ifndef STEPWISE_SWEEP_H
#define STEPWISE_SWEEP_H

#include <linux/types.h>

#define STEPWISE_SWEEP_CHUNK_MAX \
	4096 /* cells a run: interrupts wait for no more than some tens of microseconds */

struct stepwise_sweep {
	__u32 first;   /* in: index of the first cell */
	__u32 count;   /* in: cells to visit, at most STEPWISE_SWEEP_CHUNK_MAX; 0 is a probe that
			  visits none */
	__u32 visited; /* out: cells done; short of count where one was contended: go on from there
			*/
	__u32 continued; /* out: cells whose last section said Continue */
};

#endif
