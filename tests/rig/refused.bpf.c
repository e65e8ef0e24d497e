// SPDX-License-Identifier: MIT OR GPL-2.0
/* Reads beyond its packet: the verifier refuses it. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

SEC("xdp")
int careless(struct xdp_md *ctx)
{
	return *(volatile __u32 *)(long)ctx->data;
}

char license_of_program[] SEC("license") = "Dual MIT/GPL";
