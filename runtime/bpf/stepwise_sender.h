/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Checks who sent a packet that leaves by the service's port. TC completes only packets from the
 * daemon's own socket, because it trusts their content. While the daemon is away, anybody may have
 * the port. Packets of other network namespaces pass the same interface. So TC identifies the
 * socket by its cookie, which the kernel does not give to another socket until the next boot.
 */
#ifndef STEPWISE_SENDER_H
#define STEPWISE_SENDER_H

#include <linux/bpf.h>
#include <linux/in.h>
#include <bpf/bpf_helpers.h>

#include "bpf/stepwise_c.h"

/* The cookie of the socket that the daemon sends by; 0 before the first daemon. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, 1);
} stepwise_sender SEC(".maps");

static __always_inline bool stepwise_is_from_daemon(struct __sk_buff *skb)
{
#ifdef STEPWISE_CONFORM
	(void)skb;
	return true; /* the packets of a test run do not come from our socket */
#else
	const __u32 key = 0;
	const __u64 *sender = bpf_map_lookup_elem(&stepwise_sender, &key);

	return sender && *sender && bpf_get_socket_cookie(skb) == *sender;
#endif
}

/*
 * Returns true if a UDP socket of this host sends from the service's port, whatever the packet
 * looks like. Options, extension headers and fragments hide the port from a reader of the packet,
 * but not from its receiver.
 */
static __always_inline bool stepwise_is_from_port(const struct __sk_buff *skb, __u16 port)
{
	struct bpf_sock *sender = skb->sk;

	if (!sender)
		return false;
	sender = bpf_sk_fullsock(sender);
	return sender && sender->protocol == IPPROTO_UDP && sender->src_port == port;
}

#endif
