/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Looking ahead: a cell that is not in the caches is a walk of the page tables and a line from
 * memory, which a program that sees one packet waits for. So such packets are put off: the first
 * program notes which cell each is about and sends it to a device map's entry for the very
 * interface it came by. When the kernel has a bulk of them, or no more, the entry's program runs on
 * each: it first reads of all noted cells, none of which waits for another, and then steps like the
 * first one.
 *
 * What is noted is never believed: a cell that is missing there, or too many, costs time and
 * nothing else.
 */
#ifndef STEPWISE_BPF_LOOK_AHEAD_H
#define STEPWISE_BPF_LOOK_AHEAD_H

#include "bpf/stepwise_frame.h"

#define STEPWISE_BULK 16u /* packets that the kernel gathers for a device (DEV_MAP_BULK_SIZE) */
/* Pairs of cells that a processor is believed to have in its caches; a power of two. */
#define STEPWISE_RECENT 2048u
#define STEPWISE_DEVICES 64 /* interfaces */
#define STEPWISE_LINE_BYTES 64u
/* The end of the first line behind the 8 bytes with which an array's values begin. */
#define STEPWISE_LINE_REACH 71u

#ifdef STEPWISE_CONFORM
#define STEPWISE_AHEAD_SECTION "xdp" /* BPF_PROG_TEST_RUN takes no program of a device map */
#else
#define STEPWISE_AHEAD_SECTION "xdp/devmap"
#endif

struct stepwise_noted {
	__u32 count;
	__u32 indices[STEPWISE_BULK];
	__u64 recent[STEPWISE_RECENT]; /* of each of so many groups of cells the last two, the later
					  one below */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, __u32);
	__type(value, struct stepwise_noted);
	__uint(max_entries, 1);
} stepwise_noted SEC(".maps");

/* By interface, itself with the second program: the daemon's to fill in, where the driver can send
 * what was redirected. */
struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP_HASH);
	__type(key, __u32);
	__type(value, struct bpf_devmap_val);
	__uint(max_entries, STEPWISE_DEVICES);
} stepwise_devices SEC(".maps");

/* Whether the packet goes on in the second program. */
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
		/* For tests: every other packet is put off, however few cells there are. */
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
 * Reads a byte of every line of an element that has whole ones; of another, a line may be missed,
 * which costs time. Not of its begin, where there may be a guard, which programs cannot read.
 */
static __always_inline void stepwise_touch(const void *element, __u32 size)
{
	STEPWISE_UNROLL
	for (__u32 at = STEPWISE_LINE_REACH; at < size - 1; at += STEPWISE_LINE_BYTES)
		*(const volatile __u8 *)(element + at);
	*(const volatile __u8 *)(element + size - 1);
}

/* The payload of what the first program has found to be ours, and where its UDP header is; NULL to
 * please the verifier. */
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
