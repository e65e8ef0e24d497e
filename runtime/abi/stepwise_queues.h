/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* How an XDP program finds the daemon's socket for a packet's receive queue. */
#ifndef STEPWISE_QUEUES_H
#define STEPWISE_QUEUES_H

/*
 * The map stepwise_sockets has an entry for each of the first queues of each of the first
 * interfaces. This needs no search, and an empty entry costs 8 bytes. Packets of all other queues
 * and interfaces take the ring buffer.
 */
#define STEPWISE_INTERFACE_QUEUES 64
#define STEPWISE_INTERFACES 4096
#define STEPWISE_SOCKETS_MAX (STEPWISE_INTERFACES * STEPWISE_INTERFACE_QUEUES)

#define STEPWISE_QUEUE(ifindex, number) ((ifindex) * STEPWISE_INTERFACE_QUEUES + (number))

#endif
