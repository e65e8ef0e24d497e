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
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, struct stepwise_queue);
	__type(value, __u32);
	__uint(max_entries, STEPWISE_QUEUES_MAX);
} stepwise_queues SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__type(key, __u32);
	__type(value, __u32);
	__uint(max_entries, STEPWISE_QUEUES_MAX);
} stepwise_sockets SEC(".maps");

static __always_inline int stepwise_to_daemon(struct xdp_md *context)
{
	const struct stepwise_queue queue = { .ifindex = context->ingress_ifindex, .number = context->rx_queue_index };
	const __u32 *socket = bpf_map_lookup_elem(&stepwise_queues, &queue);

	return socket ? (int)bpf_redirect_map(&stepwise_sockets, *socket, XDP_PASS) : XDP_PASS;
}

#endif
