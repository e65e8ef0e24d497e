// SPDX-License-Identifier: MIT OR GPL-2.0
/* The smallest program that answers: no other is faster on this rig. */
#include "frame.bpf.h"

SEC("xdp")
int bench_reflector(struct xdp_md *ctx)
{
	struct bench_frame *frame = (void *)(long)ctx->data;

	if ((void *)(frame + 1) > (void *)(long)ctx->data_end)
		return XDP_DROP;
	bench_turn_round(frame);
	return XDP_TX;
}

/* Does nothing, which shows the cost of BPF_PROG_TEST_RUN and the driver by themselves. */
SEC("xdp")
int bench_empty(struct xdp_md *ctx __attribute__((unused)))
{
	return XDP_TX;
}

char license_of_program[] SEC("license") = "Dual MIT/GPL";
