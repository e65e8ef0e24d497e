/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * All receive queues of the interfaces of this network namespace on which the protocol is loaded in
 * native mode.
 */
#ifndef STEPWISE_XSK_QUEUES_H
#define STEPWISE_XSK_QUEUES_H

#include "net/xsk_endpoint.h"

#define XSK_QUEUES_MAX 64 /* maximum for one daemon */

struct xsk_queues {
	struct xsk_queue queues[XSK_QUEUES_MAX];
	struct endpoint *endpoints[XSK_QUEUES_MAX];
	size_t count;
};

/*
 * Opens an endpoint for each queue and registers it with XDP. Waits up to a second for a queue that
 * another process has. Reports the queues that it could not get and continues: their frames come by
 * the ring buffer.
 */
void xsk_queues_open(struct xsk_queues *opened, int sender_fd, __u32 buffer_bytes);

#endif
