/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * This host's addresses, which the loader and the daemon enter and the programs compare
 * destinations with. Both sides include it.
 */
#ifndef STEPWISE_ADDRESSES_H
#define STEPWISE_ADDRESSES_H

#include <linux/types.h>

#define STEPWISE_ADDRESSES_MAX 4096u
#define STEPWISE_ADDRESS_SLOTS 16u
#define STEPWISE_ADDRESS_SLOTS_SECTION ".data.stepwise_address_slots"

/* An address as a packet has it: a key of the map of all of them. */
struct stepwise_address {
	__u32 words[4];	 /* of an IPv4 address the first; the others are zero */
	__u32 ethertype; /* as in a frame, in network order */
	__u32 ifindex; /* of a link-local address, which another link may give to another host; else
			  0 */
};

/*
 * The addresses that are looked at before the map is. Each has its place by its last byte, so that
 * one comparison tells. The place of none holds an address that belongs elsewhere: nothing is equal
 * to it there.
 */
struct stepwise_address_slots {
	__u32 ipv4[STEPWISE_ADDRESS_SLOTS];
	__u64 ipv6[STEPWISE_ADDRESS_SLOTS][2];
	/*
	 * 0 until both are filled in, which the loader does before it attaches a program. A program
	 * that is loaded past it, as tests and measurements do, takes any destination for this
	 * host's.
	 */
	__u32 filled;
};

#endif
