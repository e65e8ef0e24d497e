/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* How a program that runs at a device map's entry, whose packets no socket can be given, forwards to the daemon. */
#ifndef STEPWISE_AHEAD_H
#define STEPWISE_AHEAD_H

#include <linux/types.h>

/* Of the ring buffer stepwise_ring: what --receive-buffer is without being told. */
#define STEPWISE_RING_BYTES (4u << 20)

/*
 * A sample of the ring. All have one size, that of the longest, since a program reserves a
 * constant; `size` says how much of it is a frame.
 */
struct stepwise_ring_frame {
	__u32 ifindex;          /* where it arrived */
	__u32 size;             /* of the frame */
	unsigned char bytes[];  /* from the Ethernet header on */
};

/* The only element of stepwise_ring_limits. */
struct stepwise_ring_limits {
	__u64 bytes_max;  /* a frame is dropped while so many or more wait; the daemon's to set, and nothing is let in while 0 */
	__u64 lost;       /* frames that were dropped for it, or found no room; the programs' to add to */
};

#endif
