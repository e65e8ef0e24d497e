/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <stddef.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/pkt_cls.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "echo.h"
#include "bpf/stepwise_daemon.h"
#include "bpf/stepwise_sender.h"
#ifdef ECHO_AHEAD
#include "bpf/stepwise_look_ahead.h"
#endif
#include "stepwise_sweep.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct echo_element);
#ifndef ECHO_SPIN_LOCK
	__uint(map_flags, BPF_F_MMAPABLE);
#endif
	__uint(max_entries, 1);
} cell SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, __u32);
	__type(value, struct { __u64 values[ECHO_COUNTERS]; });
	__uint(max_entries, 1);
} counters SEC(".maps");

#ifdef ECHO_MISSING_FUNCTION
extern int bpf_function_of_the_future(__u64 value) __ksym ECHO_MISSING_FUNCTION;
#endif

static __u64 *find_cell(__u32 index)
{
	struct echo_element *found = bpf_map_lookup_elem(&cell, &index);

	return found ? &found->value : NULL;
}

static void count(__u32 counter)
{
	__u32 key = 0;
	__u64 *values = bpf_map_lookup_elem(&counters, &key);

	if (values && counter < ECHO_COUNTERS)
		values[counter]++;
}

/* The message of a datagram to (or from) our port; NULL for anything else. */
static struct echo_message *find_message(void *data, void *end, int from_us)
{
	struct ethhdr *ethernet = data;
	struct echo_message *message;
	struct udphdr *udp;

	if ((void *)(ethernet + 1) > end)
		return NULL;
	if (ethernet->h_proto == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = (void *)(ethernet + 1);

		if ((void *)(ip + 1) > end || ip->protocol != IPPROTO_UDP)
			return NULL;
		udp = (void *)(ip + 1);
	} else if (ethernet->h_proto == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip = (void *)(ethernet + 1);

		if ((void *)(ip + 1) > end || ip->nexthdr != IPPROTO_UDP)
			return NULL;
		udp = (void *)(ip + 1);
	} else {
		return NULL;
	}
	if ((void *)(udp + 1) > end || (from_us ? udp->source : udp->dest) != bpf_htons(ECHO_PORT))
		return NULL;
	message = (void *)(udp + 1);
	return (void *)(message + 1) > end ? NULL : message;
}

static void turn_round(void *data)
{
	struct ethhdr *ethernet = data;
	unsigned char mac[ETH_ALEN];
	struct udphdr *udp;
	__be16 port;

	__builtin_memcpy(mac, ethernet->h_dest, ETH_ALEN);
	__builtin_memcpy(ethernet->h_dest, ethernet->h_source, ETH_ALEN);
	__builtin_memcpy(ethernet->h_source, mac, ETH_ALEN);
	if (ethernet->h_proto == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = (void *)(ethernet + 1);
		__be32 address = ip->saddr;

		ip->saddr = ip->daddr;
		ip->daddr = address;
		udp = (void *)(ip + 1);
		udp->check = 0;
	} else {
		struct ipv6hdr *ip = (void *)(ethernet + 1);
		struct in6_addr address = ip->saddr;

		ip->saddr = ip->daddr;
		ip->daddr = address;
		udp = (void *)(ip + 1);
	}
	port = udp->source;
	udp->source = udp->dest;
	udp->dest = port;
}

/* Of a frame without padding. */
static __u32 size_of(const void *data, const struct echo_message *message)
{
	const struct udphdr *udp = (const struct udphdr *)message - 1;

	return (const void *)udp - data + bpf_ntohs(udp->len);
}

static int forward(struct xdp_md *context, __u32 size)
{
#ifdef ECHO_BY_RING
	if (!stepwise_has_daemon())
		return XDP_PASS;
	stepwise_to_ring(context, context->ingress_ifindex, size, ECHO_FRAME_BYTES_MAX);
	return XDP_DROP;
#else
	const int action = stepwise_to_daemon(context, size, ECHO_FRAME_BYTES_MAX);

	return action == STEPWISE_NO_DAEMON ? XDP_PASS : action;
#endif
}

SEC("xdp")
int echo_xdp(struct xdp_md *context)
{
	void *data = (void *)(long)context->data;
	struct echo_message *message = find_message(data, (void *)(long)context->data_end, 0);
	__u64 *value;

#ifdef ECHO_REFUSED
	/* The verifier has something to say about this: no bounds check. */
	message = (void *)((struct udphdr *)(data + sizeof(struct ethhdr) + sizeof(struct iphdr)) +
			   1);
#endif
	if (!message) {
		count(ECHO_COUNTER_FOREIGN);
		return XDP_PASS;
	}
#ifdef ECHO_MISSING_FUNCTION
	bpf_function_of_the_future(message->value);
#endif
#ifdef ECHO_MISSING_HELPER
	((long (*)(void))9999)();
#endif
#ifdef ECHO_AHEAD
	if (bpf_redirect_map(&stepwise_devices, context->ingress_ifindex, XDP_PASS) == XDP_REDIRECT)
		return XDP_REDIRECT;
#endif
	if (message->kind != ECHO_ADD) {
		count(ECHO_COUNTER_FORWARDED);
		return forward(context, size_of(data, message));
	}
	value = find_cell(message->index);
	if (!value)
		return XDP_DROP;
	__sync_fetch_and_add(value, message->value + ECHO_VERSION);
	message->value = *value;
	message->kind = ECHO_ADDED;
	turn_round(data);
	count(ECHO_COUNTER_ADDED);
	return XDP_TX;
}

#ifdef ECHO_AHEAD
/* As much of the packet as there is, of `size` bytes, behind what is said of it. */
static __always_inline void put(struct xdp_md *context, __u32 ifindex, __u32 size, __u32 said)
{
	struct stepwise_ring_frame *frame =
		bpf_ringbuf_reserve(&stepwise_ring, sizeof(*frame) + ECHO_SAMPLE_BYTES, 0);

	if (!frame)
		return;
	bpf_xdp_load_bytes(context, 0, frame->bytes, size);
	frame->ifindex = ifindex;
	frame->size = said;
	bpf_ringbuf_submit(frame, 0);
}

/* What no program ever puts into the ring. */
static __always_inline int put_garbage(struct xdp_md *context, const struct echo_message *message)
{
	const __u32 ifindex = context->egress_ifindex, whole = ECHO_FRAME_BYTES;
	struct udphdr *udp = (struct udphdr *)message - 1;
	__u32 *nothing;

	switch (message->index) {
	case ECHO_RING_EMPTY:
		nothing = bpf_ringbuf_reserve(&stepwise_ring, sizeof(*nothing), 0);
		if (nothing)
			bpf_ringbuf_submit(nothing, 0);
		break;
	case ECHO_RING_NO_FRAME:
		put(context, ifindex, whole, 0);
		break;
	case ECHO_RING_CUT_ETHERNET:
		put(context, ifindex, whole, sizeof(struct ethhdr) - 1);
		break;
	case ECHO_RING_CUT_UDP:
		put(context, ifindex, whole, whole - sizeof(*message) - 1);
		break;
	case ECHO_RING_CUT_PAYLOAD:
		put(context, ifindex, whole, whole - 1);
		break;
	case ECHO_RING_MORE_THAN_THERE_IS:
		put(context, ifindex, whole, ECHO_SAMPLE_BYTES + 1);
		break;
	case ECHO_RING_HUGE:
		put(context, ifindex, whole, ~0u);
		break;
	case ECHO_RING_TOO_LONG:
		put(context, ifindex, whole, ECHO_SAMPLE_BYTES);
		break;
	case ECHO_RING_SHORT_LENGTH:
		udp->len = bpf_htons(sizeof(*udp) - 1);
		put(context, ifindex, whole, whole);
		break;
	case ECHO_RING_LONG_PAYLOAD:
		udp->len = bpf_htons(sizeof(*udp) + 1501);
		put(context, ifindex, whole,
		    sizeof(struct ethhdr) + sizeof(struct iphdr) + sizeof(*udp) + 1501);
		break;
	case ECHO_RING_OTHER_INTERFACE:
		put(context, ifindex + 1000, whole, whole);
		break;
	case ECHO_RING_DISCARDED:
		nothing = bpf_ringbuf_reserve(&stepwise_ring, sizeof(*nothing), 0);
		if (nothing)
			bpf_ringbuf_discard(nothing, 0);
		break;
	}
	return XDP_DROP;
}

/* Of every packet of ours, where there is an entry. */
SEC("xdp/devmap")
int echo_ahead(struct xdp_md *context)
{
	void *data = (void *)(long)context->data;
	struct echo_message *message = find_message(data, (void *)(long)context->data_end, 0);
	__u64 *value;

	if (!message)
		return XDP_DROP;
	count(ECHO_COUNTER_AHEAD);
	if (message->kind == ECHO_GARBAGE)
		return put_garbage(context, message);
	if (message->kind != ECHO_ADD)
		return stepwise_to_daemon_ahead(context, size_of(data, message),
						ECHO_FRAME_BYTES_MAX);
	value = find_cell(message->index);
	if (!value)
		return XDP_DROP;
	__sync_fetch_and_add(value, message->value);
	message->value = *value;
	message->kind = ECHO_ADDED;
	turn_round(data);
	return XDP_PASS;
}
#endif

SEC("tc")
int echo_tc(struct __sk_buff *skb)
{
	const __u16 before = bpf_htons(ECHO_TOLD << 8), after = bpf_htons(ECHO_COMPLETED << 8);
	const __u8 kind = ECHO_COMPLETED;
	struct echo_message *message;
#ifdef ECHO_TAKE
	__u64 *value;
#endif
	__u32 offset;

	if (skb->ingress_ifindex || bpf_skb_pull_data(skb, skb->len))
		return TC_ACT_OK;
	message = find_message((void *)(long)skb->data, (void *)(long)skb->data_end, 1);
	if (!message || message->kind != ECHO_TOLD)
		return TC_ACT_OK;
	if (!stepwise_is_from_daemon(skb))
		return TC_ACT_SHOT;
#ifdef ECHO_TAKE
	value = find_cell(message->index);
	if (!value || *value != message->value)
		return TC_ACT_SHOT;
	--*value;
#endif
	offset = (void *)message - (void *)(long)skb->data;
	/* Right for a checksum that is there and for one that is yet to be finished. */
	bpf_l4_csum_replace(skb, offset - sizeof(struct udphdr) + offsetof(struct udphdr, check),
			    before, after, sizeof(before) | BPF_F_MARK_MANGLED_0);
	bpf_skb_store_bytes(skb, offset, &kind, sizeof(kind), 0);
	count(ECHO_COUNTER_COMPLETED);
	return TC_ACT_OK;
}

#ifdef ECHO_CONTENDED
int contended; /* once in the life of the object, a cell is being changed by others */
#endif

struct walk {
	__u32 first;
	__u32 visited;
	__u32 continued;
	int clear;
	__u64 found;
};

static long visit(__u32 offset, void *context)
{
	struct walk *walk = context;
	__u64 *value = find_cell(walk->first + offset);

	if (value && *value >= ECHO_SWEPT) {
#ifdef ECHO_CONTENDED
		if (!contended) {
			contended = 1;
			return 1;
		}
#endif
		walk->continued++;
		walk->found++;
		/* Cleared is only what an earlier pass has found: the record is threaded through.
		 */
		if (walk->clear && walk->found > 1)
			*value = 0;
	}
	walk->visited++;
	return 0;
}

static int sweep(struct xdp_md *context, int clear)
{
	struct stepwise_sweep *request = (void *)(long)context->data;
	struct echo_sweep *record = (void *)(request + 1);
	struct walk walk = { .clear = clear };

	if ((void *)(record + 1) > (void *)(long)context->data_end ||
	    request->count > STEPWISE_SWEEP_CHUNK_MAX)
		return XDP_ABORTED;
	walk.first = request->first;
	walk.found = record->found;
	bpf_loop(request->count, visit, &walk, 0);
	record->found = walk.found;
	request->visited = walk.visited;
	request->continued = walk.continued;
	return XDP_PASS;
}

SEC("xdp")
int echo_sweep_1(struct xdp_md *context)
{
	return sweep(context, 0);
}

SEC("xdp")
int echo_sweep_2(struct xdp_md *context)
{
	return sweep(context, 1);
}
