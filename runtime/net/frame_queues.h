/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* All receive queues of the interfaces here that the protocol is loaded on, in native mode. */
#ifndef STEPWISE_FRAME_QUEUES_H
#define STEPWISE_FRAME_QUEUES_H

#include "net/frame_endpoint.h"

#define FRAME_QUEUES_MAX 64 /* that one daemon serves */

struct frame_queues {
	struct frame_queue queues[FRAME_QUEUES_MAX];
	struct endpoint *endpoints[FRAME_QUEUES_MAX];
	size_t count;
};

/*
 * Opens an endpoint for each and tells XDP; waits up to a second for one that somebody else
 * has, says what could not be had and goes on: the frames of other queues come by the ring
 * buffer.
 */
void frame_queues_open(struct frame_queues *opened, int sender_fd, __u32 buffer_bytes);

#endif
