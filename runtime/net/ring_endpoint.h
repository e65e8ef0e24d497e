/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Copies of frames from programs that cannot redirect to an AF_XDP socket. They arrive by the BPF
 * ring buffer of stepwise_forward.h. Replies leave like those of an xsk_endpoint.
 */
#ifndef STEPWISE_RING_ENDPOINT_H
#define STEPWISE_RING_ENDPOINT_H

#include "net/endpoint.h"

/*
 * Empties the ring first: frames that waited for an earlier daemon are lost. Returns NULL after a
 * message. For `sender_fd`, see sender.h.
 */
struct endpoint *ring_endpoint_open(int sender_fd, __u32 buffer_bytes);

#endif
