/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Puts what leaves into VLAN 77. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define VLAN 77

char LICENSE[] SEC("license") = "Dual MIT/GPL";

SEC("tc")
int tag_vlan(struct __sk_buff *skb)
{
	return bpf_skb_vlan_push(skb, bpf_htons(ETH_P_8021Q), VLAN) ? TC_ACT_SHOT : TC_ACT_OK;
}
