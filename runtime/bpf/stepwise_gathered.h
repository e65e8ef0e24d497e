/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Packets whose message may have operations behind its fixed part. The fields of the fixed part say
 * how many. The datagram is exactly as long as that. A message without operations may have a tail.
 */
#ifndef STEPWISE_GATHERED_H
#define STEPWISE_GATHERED_H

#include "bpf/stepwise_frame.h"
#include "bpf/stepwise_operations.h"

#define STEPWISE_OPERATION_OFFSET_MASK 0x7ff /* the largest frame has fewer bytes */

/* The program for messages that have operations. The loader puts it there. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__type(key, __u32);
	__type(value, __u32);
	__uint(max_entries, 1);
} stepwise_programs SEC(".maps");

/* Continues in the program for messages that have operations. Returns if it is not there. */
static __always_inline void stepwise_gather(struct xdp_md *context)
{
	bpf_tail_call(context, &stepwise_programs, 0);
}

/* A protocol's operations, as the generator describes them. */
struct stepwise_gathering {
	/* Returns the number of operations according to the payload's fields. */
	__u32 (*count_of)(const unsigned char *payload);
	/* Looks at all operations of a packet. Returns what it found, or NULL without memory for
	 * it. */
	const struct stepwise_operations *(*look)(struct xdp_md *context, __u32 offset,
						  __u32 count);
	__u32 count_max;
	__u32 size; /* of an operation, in bytes */
	/*
	 * The size of the tail of a message without operations, and its sum, as in stepwise_tail.h.
	 * NULL if no message has a tail.
	 */
	__u32 (*tail_size)(const unsigned char *payload);
	__u64 (*sum_tail)(struct xdp_md *context, __u32 offset, __u32 size);
};

/*
 * Returns where an operation of a packet is, if it is in the packet. The pointer is computed once:
 * if clang computed it again, the verifier would not know that the second one is in the packet.
 */
static __always_inline unsigned char *stepwise_operation(const struct xdp_md *context,
							 const struct stepwise_operations *all,
							 __u32 number, __u32 size)
{
	unsigned char *operation = (unsigned char *)(long)context->data;

	operation += (all->offset + number * size) & STEPWISE_OPERATION_OFFSET_MASK;
	asm("" : "+r"(operation));
	return operation;
}

/* Shows the verifier that an operation is in the packet. */
static __always_inline bool stepwise_has_operation(const struct xdp_md *context,
						   const unsigned char *operation, __u32 size)
{
	return operation + size <= (const unsigned char *)(long)context->data_end;
}

/*
 * Like stepwise_parse(), for a packet from a client: it has `payload_size` bytes, and as many
 * operations behind them as their fields say, which become `count`. Without operations, it has a
 * tail if their fields say so.
 *
 * The checksum comes first: a packet that was damaged on its way says nothing about its sender.
 */
static __always_inline enum stepwise_arrival
stepwise_parse_gathered(struct xdp_md *context, __u16 port, __u32 payload_size,
			const struct stepwise_gathering *gathering, __u32 *udp_offset,
			const unsigned char **payload, __u32 *count)
{
	const void *packet = (const void *)(long)context->data,
		   *end = (const void *)(long)context->data_end;
	const __u32 fixed_size = sizeof(struct udphdr) + payload_size;
	const struct stepwise_operations *all = NULL;
	enum stepwise_arrival arrival = STEPWISE_OURS;
	struct stepwise_network network;
	const struct udphdr *udp;
	__u32 beyond;

	udp = stepwise_find_request(context, packet, end, port, &network, udp_offset);
	if (!udp)
		return STEPWISE_FOREIGN;
	if ((const void *)udp + fixed_size > end)
		return STEPWISE_MALFORMED;
	*payload = (const unsigned char *)(udp + 1);
	*count = gathering->count_of(*payload);
	beyond = *count * gathering->size;
	if (gathering->tail_size && !*count)
		beyond = gathering->tail_size(*payload);
	if (*count > gathering->count_max ||
	    !stepwise_is_whole(udp, end, fixed_size + beyond, &network))
		return STEPWISE_MALFORMED;
	network.sum += bpf_htons(IPPROTO_UDP) + (__u64)udp->len +
		       stepwise_sum((const unsigned char *)udp, fixed_size, 0);
	if (*count) {
		all = gathering->look(context, *udp_offset + fixed_size, *count);
		if (!all)
			return STEPWISE_MALFORMED;
		network.sum += stepwise_sum_at(payload_size, all->sum);
	} else if (gathering->sum_tail && beyond) {
		network.sum += stepwise_sum_at(
			payload_size,
			gathering->sum_tail(context, *udp_offset + fixed_size, beyond));
	}
	/* Only IPv4 allows a datagram without a checksum. */
	if (udp->check || STEPWISE_ETHERTYPE(packet) != bpf_htons(ETH_P_IP))
		arrival = stepwise_check_sum(udp, network.sum);
	return arrival == STEPWISE_OURS && all && all->wrong ? STEPWISE_MALFORMED : arrival;
}

#endif
