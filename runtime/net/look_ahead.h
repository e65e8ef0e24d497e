/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Registers the interfaces that look ahead, whose packets the programs put off. */
#ifndef STEPWISE_LOOK_AHEAD_H
#define STEPWISE_LOOK_AHEAD_H

#include "net/xsk_queues.h"

/*
 * Registers every interface whose first queue is in `queues` and whose driver sends redirected
 * packets. Removes all others, and logs the reason. The entries outlive this daemon: without its
 * AF_XDP sockets, nothing is forwarded by the ring. Returns a negative errno after a message.
 */
int look_ahead_enter(const struct stepwise_protocol *protocol, const struct xsk_queues *queues);

/*
 * Removes an interface, because another network namespace may have an interface with the same
 * index.
 */
void look_ahead_leave(unsigned int ifindex);

/* True if a daemon has registered this interface of its network namespace. */
bool look_ahead_entered(unsigned int ifindex);

#endif
