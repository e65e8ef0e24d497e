/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Replaces <linux/bpf.h> for programs that run natively: the contexts have room for a host's
 * pointers. In the kernel these have 32 bits, and the verifier widens them. Only the members that
 * programs read are here.
 */
#ifndef STEPWISE_NATIVE_LINUX_BPF_H
#define STEPWISE_NATIVE_LINUX_BPF_H

#define xdp_md stepwise_kernel_xdp_md
#define __sk_buff stepwise_kernel_sk_buff
#include_next <linux/bpf.h>
#undef xdp_md
#undef __sk_buff

struct xdp_md {
	unsigned long data;
	unsigned long data_end;
	__u32 ingress_ifindex;
	__u32 rx_queue_index;
	__u32 egress_ifindex;
};

struct __sk_buff {
	__u32 len;
	__u32 ingress_ifindex;
	unsigned long data;
	unsigned long data_end; /* of the head, which may end before the packet does */
	struct bpf_sock *sk;
	/* Not for programs: */
	__u64 cookie;		     /* of the socket that sent it */
	const unsigned char *packet; /* all of it, for bpf_skb_pull_data() */
	_Bool has_no_memory;	     /* for a longer head */
};

#endif
