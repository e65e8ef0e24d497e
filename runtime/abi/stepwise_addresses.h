/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * This host's addresses. The loader and the daemon enter them, and the programs compare
 * destinations with them. Both sides include this file.
 */
#ifndef STEPWISE_ADDRESSES_H
#define STEPWISE_ADDRESSES_H

#include <linux/types.h>

#define STEPWISE_ADDRESSES_MAX 4096u
#define STEPWISE_ADDRESS_SLOTS 16u
#define STEPWISE_ADDRESS_SLOTS_SECTION ".data.stepwise_address_slots"

/* An address as in a packet. It is a key of the map of all addresses. */
struct stepwise_address {
	__u32 words[4];	 /* an IPv4 address is in the first; the others are zero */
	__u32 ethertype; /* as in a frame, in network byte order */
	/*
	 * Set for a link-local address, because another link may give it to another host; else 0.
	 */
	__u32 ifindex;
};

/*
 * Addresses that the programs check before they look into the map. The last byte of an address
 * selects its slot, so one comparison is enough. An empty slot holds an address of another slot,
 * which nothing can be equal to.
 */
struct stepwise_address_slots {
	__u32 ipv4[STEPWISE_ADDRESS_SLOTS];
	__u64 ipv6[STEPWISE_ADDRESS_SLOTS][2];
	/*
	 * 0 until the loader has filled in both, before it attaches a program. While it is 0, a
	 * program takes any destination for this host's. That is for programs that tests and
	 * measurements load without the loader.
	 */
	__u32 filled;
};

#endif
