/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * To the daemon from a program at a device map's entry, which can give a packet to no socket: a copy of it by a ring buffer.
 * Without a daemon it is dropped. Whoever sent it asks again; mostly the cell is known by then, and the first program lets
 * the packet go up the stack, which says that the port is closed.
 */
#ifndef STEPWISE_RING_H
#define STEPWISE_RING_H

#include "bpf/stepwise_daemon.h"
#include "bpf/stepwise_frame.h"
#include "stepwise_ahead.h"

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
 * The interface that a packet came by is the one that the entry sends to. Asked for the former, a kernel before 6.12 (or
 * 6.1.115) dereferences NULL: CVE-2024-50162.
 */
#ifdef STEPWISE_CONFORM
#define STEPWISE_AHEAD_IFINDEX(context) ((context)->ingress_ifindex) /* only a program of a device map is told the other */
#else
#define STEPWISE_AHEAD_IFINDEX(context) ((context)->egress_ifindex)
#endif

static __always_inline bool stepwise_has_daemon(const struct xdp_md *context)
{
	/* The program is not told the queue: where the daemon has any of an interface, it has the first. */
	const __u32 queue = STEPWISE_QUEUE(STEPWISE_AHEAD_IFINDEX(context), 0);

	return bpf_map_lookup_elem(&stepwise_sockets, &queue);
}

/* Drops the packet, which the daemon has a copy of where it could be had, without padding. `payload_size` is a constant. */
static __always_inline int stepwise_to_ring(struct xdp_md *context, __u32 udp_offset, __u32 payload_size)
{
	const __u32 size_max = STEPWISE_UDP_OFFSET_MASK + sizeof(struct udphdr) + payload_size, key = 0;
	const __u32 size = (udp_offset & STEPWISE_UDP_OFFSET_MASK) + sizeof(struct udphdr) + payload_size;
	struct stepwise_ring_limits *limits = bpf_map_lookup_elem(&stepwise_ring_limits, &key);
	struct stepwise_ring_frame *frame = NULL;

	if (!limits || !stepwise_has_daemon(context))
		return XDP_DROP;
	if (bpf_ringbuf_query(&stepwise_ring, BPF_RB_AVAIL_DATA) < limits->bytes_max)
		frame = bpf_ringbuf_reserve(&stepwise_ring, sizeof(*frame) + size_max, 0);
	if (!frame) {
		__sync_fetch_and_add(&limits->lost, 1);
		return XDP_DROP;
	}
	if (bpf_xdp_load_bytes(context, 0, frame->bytes, size)) {
		bpf_ringbuf_discard(frame, 0);
		return XDP_ABORTED;
	}
	frame->ifindex = STEPWISE_AHEAD_IFINDEX(context);
	frame->size = size;
	bpf_ringbuf_submit(frame, 0);
	return XDP_DROP;
}

#endif
