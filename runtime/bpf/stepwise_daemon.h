/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Passes packets to the daemon: to its AF_XDP socket for the receive queue or, if there is none, to
 * a ring buffer.
 *
 * Only a program of this load can use these two ways, because both are pinned maps that only root
 * can open. The daemon trusts the `handover` fields of a packet. So it never serves a packet from
 * the network stack, where clients and local users send anything they like.
 */
#ifndef STEPWISE_DAEMON_H
#define STEPWISE_DAEMON_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "bpf/stepwise_c.h"
#include "stepwise_forward.h"
#include "stepwise_queues.h"

/* stepwise_to_daemon() returns this if no daemon lives. It is not an XDP action. */
#define STEPWISE_NO_DAEMON (-1)

#define STEPWISE_FRAME_BYTES_MIN 42 /* the headers of Ethernet, IPv4 and UDP */

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__type(key, __u32);
	__type(value, __u32);
	__uint(max_entries, STEPWISE_SOCKETS_MAX);
} stepwise_sockets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, STEPWISE_RING_BYTES);
} stepwise_ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct stepwise_ring_limits);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
} stepwise_ring_limits SEC(".maps");

/*
 * The socket that holds the daemon's port. The kernel removes it when the daemon ends for any
 * reason.
 */
struct {
	__uint(type, BPF_MAP_TYPE_SOCKMAP);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, 1);
} stepwise_alive SEC(".maps");

static __always_inline bool stepwise_has_daemon(void)
{
	const __u32 key = 0;
	struct bpf_sock *holder = bpf_map_lookup_elem(&stepwise_alive, &key);

	if (!holder)
		return false;
	bpf_sk_release(holder);
	return true;
}

/*
 * Copies the first `size` bytes of a packet to the ring, if there is room. The caller must then
 * drop the packet in either case. `size_max` is a constant.
 */
static __always_inline void stepwise_to_ring(struct xdp_md *context, __u32 ifindex, __u32 size,
					     __u32 size_max)
{
	const __u32 key = 0;
	struct stepwise_ring_limits *limits = bpf_map_lookup_elem(&stepwise_ring_limits, &key);
	struct stepwise_ring_frame *frame = NULL;
	__u64 bytes = size;

	if (!limits)
		return;
	if (bpf_ringbuf_query(&stepwise_ring, BPF_RB_AVAIL_DATA) < limits->bytes_max)
		frame = bpf_ringbuf_reserve(&stepwise_ring, sizeof(*frame) + size_max, 0);
	if (!frame) {
		__sync_fetch_and_add(&limits->lost, 1);
		return;
	}
	/*
	 * Test one 64-bit register twice. clang knows the bounds: without the barriers it would
	 * remove both tests, or merge them into a test of a difference, from which older verifiers
	 * learn nothing.
	 */
	asm volatile("" : "+r"(bytes));
	if (bytes < STEPWISE_FRAME_BYTES_MIN)
		goto discard;
	asm volatile("" : "+r"(bytes));
	if (bytes > size_max || bpf_xdp_load_bytes(context, 0, frame->bytes, bytes))
		goto discard;
	frame->ifindex = ifindex;
	frame->size = size;
	bpf_ringbuf_submit(frame, 0);
	return;
discard:
	bpf_ringbuf_discard(frame, 0);
}

/*
 * For a program of an interface. Returns the XDP action, or STEPWISE_NO_DAEMON. `size` is the size
 * of the frame without padding, at most `size_max`.
 */
static __always_inline int stepwise_to_daemon(struct xdp_md *context, __u32 size, __u32 size_max)
{
#ifdef STEPWISE_CONFORM
	(void)context, (void)size, (void)size_max;
	/* A test run has no daemon. PASS lets the comparison see the packet that it would get. */
	return XDP_PASS;
#else
	const __u32 queue = STEPWISE_QUEUE(context->ingress_ifindex, context->rx_queue_index);

	if (bpf_redirect_map(&stepwise_sockets, queue, XDP_ABORTED) == XDP_REDIRECT)
		return XDP_REDIRECT;
	if (!stepwise_has_daemon())
		return STEPWISE_NO_DAEMON;
	stepwise_to_ring(context, context->ingress_ifindex, size, size_max);
	return XDP_DROP;
#endif
}

/*
 * For a program of a device map's entry, which cannot pass a packet to a socket or up the stack.
 * Always drops the packet. If the daemon got no copy, the client asks again. By then the first
 * program mostly knows the cell, and handles the request itself.
 *
 * The packet arrived on the interface that the entry sends to. ingress_ifindex must not be read
 * here: kernels before 6.12 (or 6.1.115) dereference NULL then (CVE-2024-50162).
 */
static __always_inline int stepwise_to_daemon_ahead(struct xdp_md *context, __u32 size,
						    __u32 size_max)
{
#ifdef STEPWISE_CONFORM
	/* Only a program of a device map may read egress_ifindex. */
	const __u32 ifindex = context->ingress_ifindex;
#else
	const __u32 ifindex = context->egress_ifindex;
#endif

	if (stepwise_has_daemon())
		stepwise_to_ring(context, ifindex, size, size_max);
	return XDP_DROP;
}

#endif
