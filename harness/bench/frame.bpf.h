/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Frames of the benchmark: Ethernet, IPv4 without options, UDP. */
#ifndef BENCH_FRAME_BPF_H
#define BENCH_FRAME_BPF_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/udp.h>
#include <bpf/bpf_helpers.h>

struct bench_frame {
	struct ethhdr ethernet;
	struct iphdr ip;
	struct udphdr udp;
	unsigned char payload[];
} __attribute__((packed));

static __always_inline void bench_turn_round(struct bench_frame *frame)
{
	const __u32 mac_high = *(__u32 *)frame->ethernet.h_source;
	const __u16 mac_low = *(__u16 *)(frame->ethernet.h_source + 4);
	const __be32 address = frame->ip.saddr;
	const __be16 port = frame->udp.source;

	*(__u32 *)frame->ethernet.h_source = *(__u32 *)frame->ethernet.h_dest;
	*(__u16 *)(frame->ethernet.h_source + 4) = *(__u16 *)(frame->ethernet.h_dest + 4);
	*(__u32 *)frame->ethernet.h_dest = mac_high;
	*(__u16 *)(frame->ethernet.h_dest + 4) = mac_low;
	frame->ip.saddr = frame->ip.daddr;
	frame->ip.daddr = address;
	frame->udp.source = frame->udp.dest;
	frame->udp.dest = port;
}

#endif
