/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* How an XDP program finds the daemon's socket for the queue that a packet came by. */
#ifndef STEPWISE_QUEUES_H
#define STEPWISE_QUEUES_H

#include <linux/types.h>

#define STEPWISE_QUEUES_MAX 64 /* that one daemon serves; packets of others go to its UDP socket */

/* The key of the map stepwise_queues; its value is an index into the map stepwise_sockets. */
struct stepwise_queue {
	__u32 ifindex;
	__u32 number;
};

#endif
