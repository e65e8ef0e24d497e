/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* How XDP programs forward to the daemon: what both sides know of the ring buffer. */
#ifndef STEPWISE_FORWARD_H
#define STEPWISE_FORWARD_H

#include <linux/types.h>

/* Size of the ring buffer stepwise_ring, and the default of --receive-buffer. */
#define STEPWISE_RING_BYTES (4u << 20)

/*
 * A sample of the ring. All have one size, that of the longest, since a program reserves a
 * constant; `size` says how much of it is a frame.
 */
struct stepwise_ring_frame {
	__u32 ifindex;	       /* where it arrived */
	__u32 size;	       /* of the frame */
	unsigned char bytes[]; /* from the Ethernet header on */
};

/* The only element of stepwise_ring_limits. */
struct stepwise_ring_limits {
	__u64 bytes_max; /* a frame is dropped while so many or more wait; the daemon sets it, and
			    nothing is let in while 0 */
	__u64 lost; /* frames that were dropped for it, or found no room; the programs add to it */
};

#endif
