/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Copies of the frames that a program forwards which no AF_XDP socket can be given: the
 * BPF ring buffer of stepwise_forward.h. Replies leave as a frame_endpoint's do.
 */
#ifndef STEPWISE_RING_ENDPOINT_H
#define STEPWISE_RING_ENDPOINT_H

#include "net/endpoint.h"

/* Begins with an empty ring: what waited for an earlier daemon is lost. NULL after a message.
 * `sender_fd`: see sender.h. */
struct endpoint *ring_endpoint_open(int sender_fd, __u32 buffer_bytes);

#endif
