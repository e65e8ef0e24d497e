// SPDX-License-Identifier: MIT OR GPL-2.0
/* A program for the peer of a served veth: the peer accepts frames that XDP sends only while it has
 * an XDP program itself. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

SEC("xdp")
int stepwise_pass(struct xdp_md *context)
{
	(void)context;
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
