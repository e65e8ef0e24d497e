/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* How an XDP program finds the daemon's socket for the queue that a packet came by. */
#ifndef STEPWISE_QUEUES_H
#define STEPWISE_QUEUES_H

/*
 * The map stepwise_sockets has a place for each of so many queues of each interface with so
 * low an index: no search, and an empty place costs 8 bytes. The packets of all others go by
 * the ring buffer.
 */
#define STEPWISE_INTERFACE_QUEUES 64
#define STEPWISE_INTERFACES 4096
#define STEPWISE_SOCKETS_MAX (STEPWISE_INTERFACES * STEPWISE_INTERFACE_QUEUES)

#define STEPWISE_QUEUE(ifindex, number) ((ifindex) * STEPWISE_INTERFACE_QUEUES + (number))

#endif
