/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * One receive queue of an interface. XDP puts forwarded frames directly into the daemon's memory
 * (AF_XDP). Replies leave as whole frames (AF_PACKET), and so pass TC like all others. This costs
 * less than half as much as a UDP socket.
 */
#ifndef STEPWISE_XSK_ENDPOINT_H
#define STEPWISE_XSK_ENDPOINT_H

#include "net/endpoint.h"

struct xsk_queue {
	unsigned int ifindex;
	unsigned int number;
};

/*
 * Returns NULL with errno set, without a message. The queue is served only after XDP knows of the
 * endpoint. For `sender_fd`, see sender.h.
 */
struct endpoint *xsk_endpoint_open(const struct xsk_queue *queue, int sender_fd,
				   __u32 buffer_bytes);

#endif
