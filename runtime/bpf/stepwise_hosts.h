/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Checks that a packet is for this host, and from a host that can be answered. XDP also sees
 * packets that a router forwards, and all packets that pass a port in promiscuous mode.
 *
 * The common path is one comparison with a global variable, without a lookup. The rest is a
 * separate function, which is rarely called and verified once.
 */
#ifndef STEPWISE_HOSTS_H
#define STEPWISE_HOSTS_H

#include <stddef.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "bpf/stepwise_sets.h"
#include "bpf/stepwise_wire.h"
#include "stepwise_addresses.h"

#define STEPWISE_LOOPBACK_IFINDEX 1 /* the same in every network namespace */
#define STEPWISE_IPV4_LOOPBACK 127  /* first byte */
#define STEPWISE_IPV4_MULTICAST 224 /* first byte of multicast; reserved addresses are above */
#define STEPWISE_IPV6_MULTICAST 0xff
#define STEPWISE_LINK_LOCAL bpf_htonl(0xfe800000) /* first four bytes, in IPv6 */
#define STEPWISE_LINK_LOCAL_MASK bpf_htonl(0xffc00000)

#ifndef STEPWISE_PROMISCUOUS
struct stepwise_address_slots stepwise_address_slots SEC(STEPWISE_ADDRESS_SLOTS_SECTION);

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, struct stepwise_address);
	__type(value, __u32);
	__uint(max_entries, STEPWISE_ADDRESSES_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} stepwise_addresses SEC(".maps");
#endif

/*
 * Returns zero if the destination is in its slot. In promiscuous mode, returns zero if the
 * destination is unicast. Both results have 32 bits, so that the verifier sees IPv4 and IPv6 as one
 * path.
 */
static __always_inline __u32 stepwise_differs_ipv4(const struct iphdr *ip)
{
#ifdef STEPWISE_PROMISCUOUS
	return stepwise_less_bit(STEPWISE_IPV4_MULTICAST - 1, *(const __u8 *)&ip->daddr);
#else
	const __u32 slot = ((const __u8 *)&ip->daddr)[3] % STEPWISE_ADDRESS_SLOTS;

	return stepwise_address_slots.ipv4[slot] ^ ip->daddr;
#endif
}

static __always_inline __u32 stepwise_differs_ipv6(const struct ipv6hdr *ip)
{
#ifdef STEPWISE_PROMISCUOUS
	return stepwise_equal_bit(*(const __u8 *)&ip->daddr, STEPWISE_IPV6_MULTICAST);
#else
	const void *address = &ip->daddr;
	const __u32 slot = *(const __u8 *)(address + 15) % STEPWISE_ADDRESS_SLOTS;
	const __u64 difference =
		(stepwise_address_slots.ipv6[slot][0] ^ STEPWISE_READ(__u64, address)) |
		(stepwise_address_slots.ipv6[slot][1] ^ STEPWISE_READ(__u64, address + 8));

	return difference | difference >> 32;
#endif
}

/*
 * Returns false for a source that no answer can reach: 0/8, multicast, reserved and broadcast
 * addresses. stepwise_is_between_hosts() checks loopback addresses, because it knows the interface.
 */
static __always_inline bool stepwise_is_host_ipv4(const struct iphdr *ip)
{
	const __u8 first = *(const __u8 *)&ip->saddr;

	return (__u8)(first - 1) < STEPWISE_IPV4_MULTICAST - 1;
}

static __always_inline __u32 stepwise_is_loopback_ipv4(const struct iphdr *ip)
{
	return stepwise_equal_bit(*(const __u8 *)&ip->saddr, STEPWISE_IPV4_LOOPBACK);
}

static __always_inline bool stepwise_is_host_ipv6(const struct ipv6hdr *ip)
{
	return *(const __u8 *)&ip->saddr != STEPWISE_IPV6_MULTICAST;
}

/*
 * Compares the first 64 bits with zero: `::`, `::1`, and the forms of IPv4 addresses that must not
 * be on a wire.
 */
static __always_inline __u32 stepwise_is_reserved_ipv6(const struct ipv6hdr *ip)
{
	return stepwise_same_bit(STEPWISE_READ(__u64, (const void *)&ip->saddr), 0);
}

#ifdef STEPWISE_PROMISCUOUS
static __always_inline bool stepwise_is_address(const struct stepwise_address *address)
{
	(void)address;
	return false; /* only multicast is checked again, and it is not a host's */
}
#else
static __always_inline bool stepwise_is_address(const struct stepwise_address *address)
{
	return !stepwise_address_slots.filled || bpf_map_lookup_elem(&stepwise_addresses, address);
}
#endif

/*
 * Decides on a packet whose destination is not in its slot, or whose source must not be on a wire.
 * This host sent all packets on lo to itself, by its own routes. So each destination there is its
 * own, and loopback sources are valid. A test run of a program also has lo as its interface.
 */
__attribute__((noinline)) int stepwise_is_between_hosts(struct xdp_md *context)
{
	const void *packet = (const void *)(long)context->data,
		   *end = (const void *)(long)context->data_end;
	const struct ipv6hdr *six = packet + sizeof(struct ethhdr);
	const struct iphdr *four = packet + sizeof(struct ethhdr);
	struct stepwise_address address = {};

	if (context->ingress_ifindex == STEPWISE_LOOPBACK_IFINDEX)
		return true;
	if ((const void *)(four + 1) > end)
		return false;
	address.ethertype = STEPWISE_READ(__be16, packet + offsetof(struct ethhdr, h_proto));
	if (address.ethertype == bpf_htons(ETH_P_IP)) {
		address.words[0] = four->daddr;
		return !stepwise_is_loopback_ipv4(four) && stepwise_is_address(&address);
	}
	if ((const void *)(six + 1) > end || stepwise_is_reserved_ipv6(six))
		return false;
	STEPWISE_UNROLL
	for (__u32 i = 0; i < 4; i++)
		address.words[i] = six->daddr.in6_u.u6_addr32[i];
	if ((address.words[0] & STEPWISE_LINK_LOCAL_MASK) == STEPWISE_LINK_LOCAL)
		address.ifindex = context->ingress_ifindex;
	return stepwise_is_address(&address);
}

#endif
