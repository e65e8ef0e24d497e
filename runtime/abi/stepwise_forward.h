/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* How XDP programs forward to the daemon by the ring buffer. Both sides include this file. */
#ifndef STEPWISE_FORWARD_H
#define STEPWISE_FORWARD_H

#include <linux/types.h>

/* Size of the ring buffer stepwise_ring, and the default of --receive-buffer. */
#define STEPWISE_RING_BYTES (4u << 20)

/*
 * A sample of the ring. All samples have the size of the longest, because a program must reserve a
 * constant. `size` is the size of the frame in it.
 */
struct stepwise_ring_frame {
	__u32 ifindex;	       /* where the frame arrived */
	__u32 size;	       /* of the frame */
	unsigned char bytes[]; /* from the start of the Ethernet header */
};

/* The only element of stepwise_ring_limits. */
struct stepwise_ring_limits {
	/*
	 * Programs drop a frame while at least this many bytes wait. The daemon sets it; at 0,
	 * programs drop all frames.
	 */
	__u64 bytes_max;
	/*
	 * Frames that were dropped because of bytes_max, or found no room. Programs increment it.
	 */
	__u64 lost;
};

#endif
