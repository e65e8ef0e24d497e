/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * One receive queue of an interface, from where XDP puts what it forwards right into
 * the daemon's memory (AF_XDP). Replies leave as whole frames (AF_PACKET), and so
 * through TC as any others. Costs less than half of what a UDP socket does.
 */
#ifndef STEPWISE_FRAME_ENDPOINT_H
#define STEPWISE_FRAME_ENDPOINT_H

#include "net/endpoint.h"

struct frame_queue {
	unsigned int ifindex;
	unsigned int number;
};

/* NULL with errno set, without a message. The queue is not served before XDP knows of the endpoint.
 * `sender_fd`: see sender.h. */
struct endpoint *frame_endpoint_open(const struct frame_queue *queue, int sender_fd,
				     __u32 buffer_bytes);

#endif
