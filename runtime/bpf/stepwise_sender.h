/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Whose a packet is that leaves by the service's port. Only what the daemon's own socket sends is
 * completed: TC believes what it says. Anybody may have the port while the daemon is away, and
 * another network namespace's packets pass the same interface; so the socket is told by its cookie,
 * which the kernel gives to no other until the machine starts again.
 */
#ifndef STEPWISE_SENDER_H
#define STEPWISE_SENDER_H

#include <linux/bpf.h>
#include <linux/in.h>
#include <bpf/bpf_helpers.h>

#include "bpf/stepwise_c.h"

/* The cookie of the socket by which the daemon sends; 0 until there was one. */
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
	return true; /* a test run's packets are from no socket of ours */
#else
	const __u32 key = 0;
	const __u64 *sender = bpf_map_lookup_elem(&stepwise_sender, &key);

	return sender && *sender && bpf_get_socket_cookie(skb) == *sender;
#endif
}

/*
 * Whether a UDP socket of this host sends from the service's port, whatever the packet looks like:
 * options, extension headers and fragments hide the port from who reads the packet, and not from
 * its receiver.
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
