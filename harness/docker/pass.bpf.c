// SPDX-License-Identifier: MIT OR GPL-2.0
/* For the other end of a veth that is served: it takes what XDP sends there only while it has a
 * program of its own. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

SEC("xdp")
int stepwise_pass(struct xdp_md *context)
{
	(void)context;
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
