// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * A lock server that speaks as DINT's does and grants everything. It stands for a program that
 * others wrote: the name of its section does not tell libbpf that it is for XDP.
 */
#include "frame.bpf.h"
#include <bpf/bpf_endian.h>

enum {
	ACQUIRE,
	RELEASE,
	GRANTED,
	RELEASED = 5
};

SEC("server_by_hand")
int grants_all(struct xdp_md *ctx)
{
	struct bench_frame *frame = (void *)(long)ctx->data;

	if ((void *)(frame + 1) + 1 > (void *)(long)ctx->data_end ||
	    frame->udp.dest != bpf_htons(20230))
		return XDP_PASS;
	frame->payload[0] = frame->payload[0] == ACQUIRE ? GRANTED : RELEASED;
	frame->udp.check = 0;
	bench_turn_round(frame);
	return XDP_TX;
}

char license_of_program[] SEC("license") = "Dual MIT/GPL";
