/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * All receive queues of the interfaces of this network namespace on which the protocol is loaded in
 * native mode.
 */
#ifndef STEPWISE_FRAME_QUEUES_H
#define STEPWISE_FRAME_QUEUES_H

#include "net/frame_endpoint.h"

#define FRAME_QUEUES_MAX 64 /* maximum for one daemon */

struct frame_queues {
	struct frame_queue queues[FRAME_QUEUES_MAX];
	struct endpoint *endpoints[FRAME_QUEUES_MAX];
	size_t count;
};

/*
 * Opens an endpoint for each queue and registers it with XDP. Waits up to a second for a queue that
 * another process has. Reports the queues that it could not get and continues: their frames come by
 * the ring buffer.
 */
void frame_queues_open(struct frame_queues *opened, int sender_fd, __u32 buffer_bytes);

#endif
