/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Look-ahead. A cell that is not in the caches costs a walk of the page tables and a line from
 * memory, and a program that sees one packet waits for both. So the first program puts such a
 * packet off: it notes the packet's cell, and redirects the packet to the device map's entry for
 * the interface that it came by. When the kernel has a bulk of packets, or no more packets, it runs
 * the entry's program on each. That program first reads all noted cells, so that no read waits for
 * another. Then it runs the same hook as the first program.
 *
 * The notes are only hints: a missing or superfluous cell costs time and nothing else.
 */
#ifndef STEPWISE_BPF_LOOK_AHEAD_H
#define STEPWISE_BPF_LOOK_AHEAD_H

#include "bpf/stepwise_frame.h"
#include "bpf/stepwise_touch.h"

/* Packets that the kernel gathers for a device (DEV_MAP_BULK_SIZE). */
#define STEPWISE_BULK 16u
/* Number of pairs of cells that a processor presumably has in its caches. A power of two. */
#define STEPWISE_RECENT 2048u
#define STEPWISE_DEVICES 64 /* interfaces */

#ifdef STEPWISE_CONFORM
/* BPF_PROG_TEST_RUN cannot run a program of a device map. */
#define STEPWISE_AHEAD_SECTION "xdp"
#else
#define STEPWISE_AHEAD_SECTION "xdp/devmap"
#endif

struct stepwise_noted {
	__u32 count;
	__u32 indices[STEPWISE_BULK];
	/* The two cells of each group that were noted last, the later one in the lower half. */
	__u64 recent[STEPWISE_RECENT];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, __u32);
	__type(value, struct stepwise_noted);
	__uint(max_entries, 1);
} stepwise_noted SEC(".maps");

/*
 * Maps an interface to itself, with the second program. The daemon fills it in for interfaces whose
 * driver can send redirected packets.
 */
struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP_HASH);
	__type(key, __u32);
	__type(value, struct bpf_devmap_val);
	__uint(max_entries, STEPWISE_DEVICES);
} stepwise_devices SEC(".maps");

/* Returns true if the packet continues in the second program. */
static __always_inline bool stepwise_put_off(const struct xdp_md *context, __u32 index)
{
	const __u32 key = 0;
	struct stepwise_noted *noted = bpf_map_lookup_elem(&stepwise_noted, &key);
	__u64 *recent;

	if (!noted)
		return false;
	recent = &noted->recent[index % STEPWISE_RECENT];
	if ((__u32)*recent == index || *recent >> 32 == index) {
#ifdef STEPWISE_FORGETFUL
		/* For tests: puts off every other packet, however few cells there are. */
		*recent = ~0ull;
#endif
		return false;
	}
	*recent = *recent << 32 | index;
	if (bpf_redirect_map(&stepwise_devices, context->ingress_ifindex, XDP_PASS) != XDP_REDIRECT)
		return false;
	noted->indices[noted->count++ % STEPWISE_BULK] = index;
	return true;
}

/*
 * Finds the payload and the UDP header of a packet that the first program found to be ours. The
 * NULL is for the verifier.
 */
static __always_inline const unsigned char *
stepwise_find_again(const struct xdp_md *context, __u32 payload_size, __u32 *udp_offset)
{
	const void *packet = (const void *)(long)context->data,
		   *end = (const void *)(long)context->data_end;
	const struct udphdr *udp;

	if (packet + STEPWISE_UDP_OFFSET_IPV4 > end)
		return NULL;
	*udp_offset = stepwise_hide(STEPWISE_ETHERTYPE(packet) == bpf_htons(ETH_P_IP) ?
					    STEPWISE_UDP_OFFSET_IPV4 :
					    STEPWISE_UDP_OFFSET_IPV6) &
		      STEPWISE_UDP_OFFSET_MASK;
	udp = packet + *udp_offset;
	return (const void *)(udp + 1) + payload_size > end ? NULL :
							      (const unsigned char *)(udp + 1);
}

#endif
