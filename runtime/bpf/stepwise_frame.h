/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The frame around a message: Ethernet, IPv4 without options or IPv6, UDP. Finds
 * out whose a packet is, checks it, and turns it round.
 *
 * No packet pointer is kept across the sections of a hook: the verifier then sees
 * IPv4 and IPv6 as one path there, and follows it once.
 */
#ifndef STEPWISE_FRAME_H
#define STEPWISE_FRAME_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/pkt_cls.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "bpf/stepwise_wire.h"

#define STEPWISE_IP_OFFSET sizeof(struct ethhdr)
#define STEPWISE_UDP_OFFSET_IPV4 (STEPWISE_IP_OFFSET + sizeof(struct iphdr))
#define STEPWISE_UDP_OFFSET_IPV6 (STEPWISE_IP_OFFSET + sizeof(struct ipv6hdr))
#define STEPWISE_FRAGMENT_MASK 0x3fff /* more fragments, and the offset */

enum stepwise_arrival {
	STEPWISE_OURS,
	STEPWISE_FOREIGN,
	STEPWISE_MALFORMED,
};

/* Which of the two ports tells that a packet is ours. */
enum stepwise_port {
	STEPWISE_PORT_SOURCE,
	STEPWISE_PORT_DESTINATION,
};

/* The whole of UDP's checksum: pseudo header, header and payload; 0xffff when it is right. */
static __always_inline __u16 stepwise_udp_sum(const void *addresses, __u32 addresses_size, const struct udphdr *udp,
					      __u32 udp_size)
{
	__u64 sum = bpf_htons(IPPROTO_UDP) + (__u64)udp->len;

	sum += stepwise_sum(addresses, addresses_size, 0);
	sum += stepwise_sum((const unsigned char *)udp, udp_size, 0);
	return stepwise_fold(sum);
}

static __always_inline bool stepwise_is_ours(const struct udphdr *udp, enum stepwise_port which, __u16 port)
{
	return (which == STEPWISE_PORT_SOURCE ? udp->source : udp->dest) == bpf_htons(port);
}

static __always_inline enum stepwise_arrival stepwise_parse_ipv4(const void *packet, const void *end, enum stepwise_port which,
								 __u16 port, __u32 payload_size,
								 const unsigned char **payload)
{
	const struct iphdr *ip = packet + STEPWISE_IP_OFFSET;
	const struct udphdr *udp = packet + STEPWISE_UDP_OFFSET_IPV4;
	const __u32 udp_size = sizeof(*udp) + payload_size;

	if ((const void *)(udp + 1) > end)
		return STEPWISE_FOREIGN;
	if (*(const __u8 *)ip != 0x45 || ip->protocol != IPPROTO_UDP || ip->frag_off & bpf_htons(STEPWISE_FRAGMENT_MASK) ||
	    !stepwise_is_ours(udp, which, port))
		return STEPWISE_FOREIGN;
	if ((const void *)udp + udp_size > end || ip->tot_len != bpf_htons(sizeof(*ip) + udp_size) ||
	    udp->len != bpf_htons(udp_size))
		return STEPWISE_MALFORMED;
	*payload = (const unsigned char *)(udp + 1);
	/* The source is this host where the source port is ours: its checksum may be left to the device. */
	if (which == STEPWISE_PORT_SOURCE || !udp->check)
		return STEPWISE_OURS;
	return stepwise_udp_sum(&ip->saddr, 8, udp, udp_size) == 0xffff ? STEPWISE_OURS : STEPWISE_MALFORMED;
}

static __always_inline enum stepwise_arrival stepwise_parse_ipv6(const void *packet, const void *end, enum stepwise_port which,
								 __u16 port, __u32 payload_size,
								 const unsigned char **payload)
{
	const struct ipv6hdr *ip = packet + STEPWISE_IP_OFFSET;
	const struct udphdr *udp = packet + STEPWISE_UDP_OFFSET_IPV6;
	const __u32 udp_size = sizeof(*udp) + payload_size;

	if ((const void *)(udp + 1) > end)
		return STEPWISE_FOREIGN;
	if (*(const __u8 *)ip >> 4 != 6 || ip->nexthdr != IPPROTO_UDP || !stepwise_is_ours(udp, which, port))
		return STEPWISE_FOREIGN;
	if ((const void *)udp + udp_size > end || ip->payload_len != bpf_htons(udp_size) || udp->len != bpf_htons(udp_size))
		return STEPWISE_MALFORMED;
	*payload = (const unsigned char *)(udp + 1);
	if (which == STEPWISE_PORT_SOURCE)
		return STEPWISE_OURS;
	if (!udp->check)
		return STEPWISE_MALFORMED;
	return stepwise_udp_sum(&ip->saddr, 32, udp, udp_size) == 0xffff ? STEPWISE_OURS : STEPWISE_MALFORMED;
}

/*
 * Whose a packet is. Ours are UDP on our port to one receiver; the message of an
 * ours but malformed packet is not to be read.
 */
static __always_inline enum stepwise_arrival stepwise_parse(const void *packet, const void *end, enum stepwise_port which,
							    __u16 port, __u32 payload_size, const unsigned char **payload)
{
	const struct ethhdr *ethernet = packet;

	if ((const void *)(ethernet + 1) > end || ethernet->h_dest[0] & 1)
		return STEPWISE_FOREIGN;
	if (ethernet->h_proto == bpf_htons(ETH_P_IP))
		return stepwise_parse_ipv4(packet, end, which, port, payload_size, payload);
	if (ethernet->h_proto == bpf_htons(ETH_P_IPV6))
		return stepwise_parse_ipv6(packet, end, which, port, payload_size, payload);
	return STEPWISE_FOREIGN;
}

/* The UDP header of a packet that was found ours, after its pointers were loaded again; NULL to please the verifier. */
static __always_inline struct udphdr *stepwise_udp(void *packet, void *end, __u32 payload_size)
{
	struct ethhdr *ethernet = packet;

	if (packet + STEPWISE_UDP_OFFSET_IPV4 + sizeof(struct udphdr) + payload_size > end)
		return NULL;
	if (ethernet->h_proto == bpf_htons(ETH_P_IP))
		return packet + STEPWISE_UDP_OFFSET_IPV4;
	if (packet + STEPWISE_UDP_OFFSET_IPV6 + sizeof(struct udphdr) + payload_size > end)
		return NULL;
	return packet + STEPWISE_UDP_OFFSET_IPV6;
}

/* Sender and receiver change places: no checksum notices. */
static __always_inline void stepwise_turn_round(void *packet, struct udphdr *udp)
{
	struct ethhdr *ethernet = packet;
	const __u32 address_high = STEPWISE_READ(__u32, ethernet->h_source);
	const __u16 address_low = STEPWISE_READ(__u16, ethernet->h_source + 4);
	const __be16 port = udp->source;

	STEPWISE_WRITE(__u32, ethernet->h_source, STEPWISE_READ(__u32, ethernet->h_dest));
	STEPWISE_WRITE(__u16, ethernet->h_source + 4, STEPWISE_READ(__u16, ethernet->h_dest + 4));
	STEPWISE_WRITE(__u32, ethernet->h_dest, address_high);
	STEPWISE_WRITE(__u16, ethernet->h_dest + 4, address_low);
	udp->source = udp->dest;
	udp->dest = port;
	/*
	 * The verifier has forgotten which of both it is. Counted back from the UDP
	 * header, the addresses are within bounds either way, however short the payload.
	 */
	if (ethernet->h_proto == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = (void *)udp - sizeof(*ip);
		__be32 from = ip->saddr;

		ip->saddr = ip->daddr;
		ip->daddr = from;
	} else {
		struct ipv6hdr *ip = (void *)udp - sizeof(*ip);
		struct in6_addr from = ip->saddr;

		ip->saddr = ip->daddr;
		ip->daddr = from;
	}
}

/* Corrects UDP's checksum by what stepwise_replace() said. No checksum (IPv4 only) stays none. */
static __always_inline void stepwise_correct_checksum(struct udphdr *udp, __u64 sum)
{
	__u16 check = udp->check;

	if (!check)
		return;
	check = ~stepwise_fold(sum + (__u16)~check);
	udp->check = check ? check : 0xffff;
}

#endif
