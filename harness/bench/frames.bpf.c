// SPDX-License-Identifier: MIT OR GPL-2.0
/* Redirects packets for the server's port to the AF_XDP socket of their queue, if there is one. */
#include "frame.bpf.h"
#include <bpf/bpf_endian.h>

#define QUEUES_MAX 64

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, QUEUES_MAX);
	__type(key, __u32);
	__type(value, __u32);
} sockets SEC(".maps");

__u64 port;

SEC("xdp")
int bench_frames(struct xdp_md *ctx)
{
	const struct bench_frame *frame = (void *)(long)ctx->data;

	if ((void *)(frame + 1) > (void *)(long)ctx->data_end ||
	    frame->ethernet.h_proto != bpf_htons(ETH_P_IP) || frame->ip.protocol != 17 ||
	    frame->udp.dest != bpf_htons(port))
		return XDP_PASS;
	return bpf_redirect_map(&sockets, ctx->rx_queue_index, XDP_PASS);
}

char license_of_program[] SEC("license") = "Dual MIT/GPL";
