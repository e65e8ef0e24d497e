/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * To the daemon: by the socket (AF_XDP) that it has opened for this receive queue. Where
 * there is none, or no daemon any more, the packet goes up the stack to the daemon's UDP
 * socket, or its client is told that the port is closed.
 */
#ifndef STEPWISE_DAEMON_H
#define STEPWISE_DAEMON_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "stepwise_queues.h"

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__type(key, __u32);
	__type(value, __u32);
	__uint(max_entries, STEPWISE_INTERFACES * STEPWISE_INTERFACE_QUEUES);
} stepwise_sockets SEC(".maps");

static __always_inline int stepwise_to_daemon(struct xdp_md *context)
{
	const __u32 queue = STEPWISE_QUEUE(context->ingress_ifindex, context->rx_queue_index);

	return (int)bpf_redirect_map(&stepwise_sockets, queue, XDP_PASS);
}

#endif
