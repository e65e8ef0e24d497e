/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Of a protocol that looks ahead: the interfaces whose packets are put off. */
#ifndef STEPWISE_LOOK_AHEAD_H
#define STEPWISE_LOOK_AHEAD_H

#include "net/frame_queues.h"

/*
 * Every interface whose first queue is among those, and that can send what is redirected to
 * it, looks ahead from now on; the others do no longer, and the operator is told why. The
 * entries stay when this daemon ends: without its AF_XDP sockets nothing is forwarded by the
 * ring. A negative errno after a message.
 */
int look_ahead_enter(const struct stepwise_protocol *protocol, const struct frame_queues *queues);

/* Its packets are put off no longer: another network namespace may have an interface with this
 * index. */
void look_ahead_leave(unsigned int ifindex);

/* Whether a daemon has entered this interface of its network namespace. */
bool look_ahead_entered(unsigned int ifindex);

#endif
