/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Messages that may have a tail: bytes that follow the fixed part. A field of the fixed part gives
 * their number. No program reads or writes the tail as data. Programs only check that all of it is
 * there and, in XDP, that it matches the checksum.
 */
#ifndef STEPWISE_TAIL_H
#define STEPWISE_TAIL_H

#include "bpf/stepwise_frame.h"

#define STEPWISE_TAIL_PART \
	64u /* bytes that one iteration sums; what is left goes eight bytes at a time */
#define STEPWISE_TAIL_OFFSET_MASK 0xfff

/*
 * Returns the size of the tail in bytes according to the payload's fields, 0 if there is no tail.
 * Generated.
 */
typedef __u32 stepwise_tail_size(const unsigned char *payload);

/* State that the iterations share. */
struct stepwise_tail {
	struct xdp_md *context;
	__u64 sum;
	STEPWISE_HIDDEN(__u32, offset); /* in bytes, from the start of the packet */
	STEPWISE_HIDDEN(__u32, size);
};

/*
 * Sums one part of the tail. For fewer than eight bytes, it reads the bytes before them too, and
 * shifts these out. There are always some before, but reading beyond the part may pass the end of
 * the packet.
 */
static long stepwise_sum_part(__u32 number, void *context)
{
	struct stepwise_tail *tail = context;
	const void *packet = (const void *)(long)tail->context->data,
		   *end = (const void *)(long)tail->context->data_end;
	const __u32 size = tail->size.value, parts = size / STEPWISE_TAIL_PART;
	__u32 at = number * STEPWISE_TAIL_PART, beyond;
	__u64 word;

	if (number < parts) {
		packet += (tail->offset.value + at) & STEPWISE_TAIL_OFFSET_MASK;
		if (packet + STEPWISE_TAIL_PART > end)
			return 1;
		tail->sum += stepwise_sum(packet, STEPWISE_TAIL_PART, 0);
		return 0;
	}
	at = parts * STEPWISE_TAIL_PART + (number - parts) * 8;
	beyond = at + 8 > size ? at + 8 - size : 0;
	packet += (tail->offset.value + at - beyond) & STEPWISE_TAIL_OFFSET_MASK;
	if (packet + 8 > end)
		return 1;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	word = STEPWISE_READ(__u64, packet) >> 8 * beyond;
#else
	word = STEPWISE_READ(__u64, packet) << 8 * beyond;
#endif
	tail->sum += (word & 0xffffffff) + (word >> 32);
	return 0;
}

/* Returns the one's complement sum of a tail, not folded. The tail is known to be in the packet. */
static __always_inline __u64 stepwise_sum_tail(struct xdp_md *context, __u32 offset, __u32 size)
{
	struct stepwise_tail tail = { .context = context };

	tail.offset.value = offset;
	tail.size.value = size;
	bpf_loop(size / STEPWISE_TAIL_PART + (size % STEPWISE_TAIL_PART + 7) / 8, stepwise_sum_part,
		 &tail, 0);
	return tail.sum;
}

/*
 * Like stepwise_parse(), for a packet from a client: it has `payload_size` bytes, and a tail if
 * their fields say so.
 */
static __always_inline enum stepwise_arrival
stepwise_parse_tailed(struct xdp_md *context, __u16 port, __u32 payload_size,
		      stepwise_tail_size *size_of, __u32 *udp_offset, const unsigned char **payload)
{
	const void *packet = (const void *)(long)context->data,
		   *end = (const void *)(long)context->data_end;
	const __u32 fixed_size = sizeof(struct udphdr) + payload_size;
	struct stepwise_network network;
	const struct udphdr *udp;
	__u32 tail_size;
	__u64 tail_sum;

	udp = stepwise_find_request(context, packet, end, port, &network, udp_offset);
	if (!udp)
		return STEPWISE_FOREIGN;
	if ((const void *)udp + fixed_size > end || network.udp_length != udp->len)
		return STEPWISE_MALFORMED;
	*payload = (const unsigned char *)(udp + 1);
	tail_size = size_of(*payload);
	if (udp->len != bpf_htons(fixed_size + tail_size) ||
	    end - (const void *)udp < fixed_size + tail_size)
		return STEPWISE_MALFORMED;
	if (!udp->check && STEPWISE_ETHERTYPE(packet) == bpf_htons(ETH_P_IP))
		return STEPWISE_OURS;
	network.sum += bpf_htons(IPPROTO_UDP) + (__u64)udp->len +
		       stepwise_sum((const unsigned char *)udp, fixed_size, 0);
	if (tail_size) {
		tail_sum = stepwise_sum_tail(context, *udp_offset + fixed_size, tail_size);
		/* At an odd offset, the two bytes of each 16 bits are swapped. */
		network.sum += fixed_size & 1 ? tail_sum << 8 : tail_sum;
	}
	return stepwise_check_sum(udp, network.sum);
}

/*
 * Like stepwise_parse_sent(), for a packet with or without a tail. An answer has no tail if its
 * request had one. The tail need not lie where the program can read it.
 */
static __always_inline enum stepwise_arrival
stepwise_parse_sent_tailed(const struct __sk_buff *skb, __u16 port, __u32 payload_size,
			   stepwise_tail_size *size_of, __u32 *udp_offset,
			   const unsigned char **payload)
{
	const void *packet = (const void *)(long)skb->data,
		   *end = (const void *)(long)skb->data_end;
	const __u32 fixed_size = sizeof(struct udphdr) + payload_size;
	struct stepwise_network network;
	const struct udphdr *udp;
	__u32 udp_size;

	udp = stepwise_find_udp(packet, end, STEPWISE_PORT_SOURCE, port, &network, udp_offset);
	if (!udp)
		return STEPWISE_FOREIGN;
	if ((const void *)udp + fixed_size > end || network.udp_length != udp->len)
		return STEPWISE_MALFORMED;
	*payload = (const unsigned char *)(udp + 1);
	udp_size = bpf_ntohs(udp->len);
	if (udp_size != fixed_size && udp_size != fixed_size + size_of(*payload))
		return STEPWISE_MALFORMED;
	return skb->len < *udp_offset + udp_size ? STEPWISE_MALFORMED : STEPWISE_OURS;
}

#endif
