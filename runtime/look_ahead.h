/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Of a protocol that looks ahead: the interfaces whose packets are put off, and the ring
 * buffer by which their second program forwards.
 */
#ifndef STEPWISE_LOOK_AHEAD_H
#define STEPWISE_LOOK_AHEAD_H

#include "frame_queues.h"

/*
 * Every interface whose first queue is among those, and that can send what is redirected to
 * it, looks ahead from now on; the others do no longer, and the operator is told why. The
 * entries stay when this daemon ends: without its AF_XDP sockets nothing is forwarded by the
 * ring. NULL after a message.
 */
struct endpoint *look_ahead_open(const struct stepwise_protocol *protocol, const struct frame_queues *queues, __u32 buffer_bytes);

/* Whether a daemon has entered this interface of its network namespace. */
bool look_ahead_entered(unsigned int ifindex);

#endif
