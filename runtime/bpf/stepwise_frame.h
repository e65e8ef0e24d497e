/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The frame around a message: Ethernet, then IPv4 without options or IPv6, then UDP. These
 * functions find out whether a packet is ours, check it, and turn it round.
 *
 * No packet pointer is kept across the sections of a hook. So the verifier sees IPv4 and IPv6 as
 * one path there, and follows it once.
 */
#ifndef STEPWISE_FRAME_H
#define STEPWISE_FRAME_H

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

#include "bpf/stepwise_hosts.h"
#include "bpf/stepwise_hooks.h"
#include "bpf/stepwise_sets.h"
#include "bpf/stepwise_wire.h"

#define STEPWISE_IP_OFFSET sizeof(struct ethhdr)
#define STEPWISE_UDP_OFFSET_IPV4 (STEPWISE_IP_OFFSET + sizeof(struct iphdr))
#define STEPWISE_UDP_OFFSET_IPV6 (STEPWISE_IP_OFFSET + sizeof(struct ipv6hdr))
#define STEPWISE_UDP_OFFSET_MASK 0x3f
#define STEPWISE_FRAGMENT_MASK 0x3fff /* the flag "more fragments", and the offset */

/* <linux/if_ether.h> declares its struct packed, and clang would read it byte by byte. */
#define STEPWISE_ETHERTYPE(packet) \
	STEPWISE_READ(__be16, (packet) + offsetof(struct ethhdr, h_proto))

enum stepwise_arrival {
	STEPWISE_OURS,
	STEPWISE_FOREIGN,
	STEPWISE_MALFORMED,
	STEPWISE_MALFORMED_CHECKSUM,
};

/* The port by which a packet is recognised as ours. */
enum stepwise_port {
	STEPWISE_PORT_SOURCE,
	STEPWISE_PORT_DESTINATION,
};

/* Results of reading the network header. */
struct stepwise_network {
	/* Hidden from the verifier, which therefore sees IPv4 and IPv6 as one path after it. */
	__u32 udp_offset;
	__be16 udp_length;
	__u64 sum;     /* sum of the addresses, for the UDP checksum */
	__u32 suspect; /* zero if the addresses of an arriving packet need no second check */
};

/*
 * Returns false if the packet is not UDP, has options, extension headers or a wrong header
 * checksum, or is a fragment. For an arriving packet, also returns false if the source is not a
 * host.
 */
static __always_inline bool stepwise_parse_network(const void *packet, const void *end,
						   enum stepwise_port which,
						   struct stepwise_network *network)
{
	const struct ethhdr *ethernet = packet;
	const void *header = packet + STEPWISE_IP_OFFSET;

	if (packet + STEPWISE_UDP_OFFSET_IPV4 > end || ethernet->h_dest[0] & 1)
		return false;
	if (STEPWISE_ETHERTYPE(packet) == bpf_htons(ETH_P_IP)) {
		const struct iphdr *ip = header;

		network->udp_offset = STEPWISE_UDP_OFFSET_IPV4;
		network->udp_length = bpf_htons(bpf_ntohs(ip->tot_len) - sizeof(*ip));
		network->sum = stepwise_sum((const unsigned char *)&ip->saddr, 8, 0);
		network->suspect = stepwise_differs_ipv4(ip) | stepwise_is_loopback_ipv4(ip);
		return *(const __u8 *)header == 0x45 && ip->protocol == IPPROTO_UDP &&
		       (which == STEPWISE_PORT_SOURCE || stepwise_is_host_ipv4(ip)) &&
		       !(ip->frag_off & bpf_htons(STEPWISE_FRAGMENT_MASK)) &&
		       stepwise_is_sum_correct(
			       stepwise_sum(header, offsetof(struct iphdr, saddr), 0) +
			       network->sum);
	}
	if (STEPWISE_ETHERTYPE(packet) == bpf_htons(ETH_P_IPV6) &&
	    packet + STEPWISE_UDP_OFFSET_IPV6 <= end) {
		const struct ipv6hdr *ip = header;

		network->udp_offset = STEPWISE_UDP_OFFSET_IPV6;
		network->udp_length = ip->payload_len;
		network->sum = stepwise_sum((const unsigned char *)&ip->saddr, 32, 0);
		network->suspect = stepwise_differs_ipv6(ip) | stepwise_is_reserved_ipv6(ip);
		return *(const __u8 *)header >> 4 == 6 && ip->nexthdr == IPPROTO_UDP &&
		       (which == STEPWISE_PORT_SOURCE || stepwise_is_host_ipv6(ip));
	}
	return false;
}

/* Returns the UDP header if the packet is unicast UDP on our port, else NULL. */
static __always_inline const struct udphdr *stepwise_find_udp(const void *packet, const void *end,
							      enum stepwise_port which, __u16 port,
							      struct stepwise_network *network,
							      __u32 *udp_offset)
{
	const struct udphdr *udp;

	if (!stepwise_parse_network(packet, end, which, network))
		return NULL;
	*udp_offset = stepwise_hide(network->udp_offset) & STEPWISE_UDP_OFFSET_MASK;
	udp = packet + *udp_offset;
	if ((const void *)(udp + 1) > end ||
	    (which == STEPWISE_PORT_SOURCE ? udp->source : udp->dest) != bpf_htons(port))
		return NULL;
	return udp;
}

/*
 * Like stepwise_find_udp(), for an arriving packet: it must also be for this host, and from another
 * one. (TC need not check addresses, because the daemon only answers packets that passed this
 * check.)
 */
static __always_inline const struct udphdr *
stepwise_find_request(struct xdp_md *context, const void *packet, const void *end, __u16 port,
		      struct stepwise_network *network, __u32 *udp_offset)
{
	const struct udphdr *udp = stepwise_find_udp(packet, end, STEPWISE_PORT_DESTINATION, port,
						     network, udp_offset);

	if (udp && __builtin_expect(network->suspect, 0) && !stepwise_is_between_hosts(context))
		return NULL;
	stepwise_join();
	return udp;
}

/* True if the datagram has the given size and is complete. */
static __always_inline bool stepwise_is_whole(const struct udphdr *udp, const void *end,
					      __u32 udp_size,
					      const struct stepwise_network *network)
{
	return (const void *)udp + udp_size <= end && udp->len == bpf_htons(udp_size) &&
	       network->udp_length == udp->len;
}

/*
 * Checks the checksum of a request. `sum` is the sum of the pseudo header and of the whole
 * datagram.
 */
static __always_inline enum stepwise_arrival stepwise_check_sum(const struct udphdr *udp, __u64 sum)
{
	return udp->check && stepwise_is_sum_correct(sum) ? STEPWISE_OURS :
							    STEPWISE_MALFORMED_CHECKSUM;
}

/* Classifies an arriving packet. The message must not be read if the packet is malformed. */
static __always_inline enum stepwise_arrival stepwise_parse(struct xdp_md *context, __u16 port,
							    __u32 payload_size, __u32 *udp_offset,
							    const unsigned char **payload)
{
	const void *packet = (const void *)(long)context->data,
		   *end = (const void *)(long)context->data_end;
	const __u32 udp_size = sizeof(struct udphdr) + payload_size;
	struct stepwise_network network;
	const struct udphdr *udp;

	udp = stepwise_find_request(context, packet, end, port, &network, udp_offset);
	if (!udp)
		return STEPWISE_FOREIGN;
	if (!stepwise_is_whole(udp, end, udp_size, &network))
		return STEPWISE_MALFORMED;
	*payload = (const unsigned char *)(udp + 1);
	/* Only IPv4 allows a datagram without a checksum. */
	if (!udp->check && STEPWISE_ETHERTYPE(packet) == bpf_htons(ETH_P_IP))
		return STEPWISE_OURS;
	network.sum += bpf_htons(IPPROTO_UDP) + (__u64)udp->len +
		       stepwise_sum((const unsigned char *)udp, udp_size, 0);
	return stepwise_check_sum(udp, network.sum);
}

/*
 * Classifies a packet that this host sends. Does not check the checksum, which may be left to the
 * device.
 */
static __always_inline enum stepwise_arrival stepwise_parse_sent(const struct __sk_buff *skb,
								 __u16 port, __u32 payload_size,
								 __u32 *udp_offset,
								 const unsigned char **payload)
{
	const void *packet = (const void *)(long)skb->data,
		   *end = (const void *)(long)skb->data_end;
	const __u32 udp_size = sizeof(struct udphdr) + payload_size;
	struct stepwise_network network;
	const struct udphdr *udp;

	udp = stepwise_find_udp(packet, end, STEPWISE_PORT_SOURCE, port, &network, udp_offset);
	if (!udp)
		return STEPWISE_FOREIGN;
	if (!stepwise_is_whole(udp, end, udp_size, &network))
		return STEPWISE_MALFORMED;
	*payload = (const unsigned char *)(udp + 1);
	return STEPWISE_OURS;
}

/*
 * Returns the UDP header of a packet that was found to be ours, after its pointers were loaded
 * again. The NULL is for the verifier. (For other packets, the offset is zero.)
 */
static __always_inline struct udphdr *stepwise_udp(void *packet, void *end, __u32 udp_offset,
						   __u32 payload_size)
{
	struct udphdr *udp = packet + (stepwise_hide_zero(udp_offset) & STEPWISE_UDP_OFFSET_MASK);

	return (void *)(udp + 1) + payload_size > end ? NULL : udp;
}

/* Exchanges two addresses. `size` is constant and even. */
static __always_inline void stepwise_exchange(void *one, void *other, __u32 size)
{
	__u32 at = 0;

	STEPWISE_UNROLL
	for (; at + 8 <= size; at += 8) {
		const __u64 part = STEPWISE_READ(__u64, one + at);

		STEPWISE_WRITE(__u64, one + at, STEPWISE_READ(__u64, other + at));
		STEPWISE_WRITE(__u64, other + at, part);
	}
	if (at + 4 <= size) {
		const __u32 part = STEPWISE_READ(__u32, one + at);

		STEPWISE_WRITE(__u32, one + at, STEPWISE_READ(__u32, other + at));
		STEPWISE_WRITE(__u32, other + at, part);
		at += 4;
	}
	if (at + 2 <= size) {
		const __u16 part = STEPWISE_READ(__u16, one + at);

		STEPWISE_WRITE(__u16, one + at, STEPWISE_READ(__u16, other + at));
		STEPWISE_WRITE(__u16, other + at, part);
	}
}

/*
 * Exchanges sender and receiver. This changes no checksum. It tests the packet's end again, because
 * earlier tests prove nothing to the verifier for this pointer; hence the false.
 */
static __always_inline bool stepwise_turn_round(void *packet, void *end, struct udphdr *udp)
{
	const __be16 port = udp->source;

	udp->source = udp->dest;
	udp->dest = port;
	asm("" : "+r"(packet)); /* clang knows that this part is in bounds, the verifier does not */
	if (packet + STEPWISE_UDP_OFFSET_IPV4 > end)
		return false;
	stepwise_exchange(packet, packet + ETH_ALEN, ETH_ALEN);
	if (STEPWISE_ETHERTYPE(packet) == bpf_htons(ETH_P_IP)) {
		stepwise_exchange(packet + STEPWISE_IP_OFFSET + offsetof(struct iphdr, saddr),
				  packet + STEPWISE_IP_OFFSET + offsetof(struct iphdr, daddr), 4);
		return true;
	}
	if (packet + STEPWISE_UDP_OFFSET_IPV6 > end)
		return false;
	stepwise_exchange(packet + STEPWISE_IP_OFFSET + offsetof(struct ipv6hdr, saddr),
			  packet + STEPWISE_IP_OFFSET + offsetof(struct ipv6hdr, daddr), 16);
	return true;
}

/*
 * Corrects the UDP checksum by the sum that stepwise_replace() returned. A datagram without a
 * checksum (IPv4 only) stays without one. No other checksum becomes zero: a sum that is not zero
 * folds to 0xffff instead, as UDP requires.
 */
static __always_inline void stepwise_correct_checksum(struct udphdr *udp, __u64 change)
{
	udp->check = stepwise_where(stepwise_less_bit(0, udp->check),
				    stepwise_fold(udp->check + change));
}

#endif
