/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include "bpf/stepwise_daemon.h"
#include "bpf/stepwise_frame.h"
#include "bpf/stepwise_sender.h"
#include "bpf/stepwise_tail.h"
#include "parcel.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u64);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, PARCEL_CAPACITY);
} shelf SEC(".maps");

/* No program touches it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct parcel_bytes);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, PARCEL_CAPACITY);
} tail SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, __u32);
	__type(value, struct { __u64 values[PARCEL_COUNTERS]; });
	__uint(max_entries, 1);
} counters SEC(".maps");

static void count(__u32 counter)
{
	__u32 key = 0;
	__u64 *values = bpf_map_lookup_elem(&counters, &key);

	if (values && counter < PARCEL_COUNTERS)
		values[counter]++;
}

SEC("xdp")
int parcel_xdp(struct xdp_md *context)
{
	const unsigned char *arrived = NULL;
	__u32 udp_offset = 0, index;
	unsigned char *payload;
	struct udphdr *udp;
	__u64 *word;
	int action;

	switch (stepwise_parse_tailed(context, PARCEL_PORT, PARCEL_WIRE_SIZE,
				      parcel_message_tail_size, &udp_offset, &arrived)) {
	case STEPWISE_FOREIGN:
		count(PARCEL_COUNTER_FOREIGN);
		return XDP_PASS;
	case STEPWISE_MALFORMED:
		count(PARCEL_COUNTER_MALFORMED);
		return XDP_DROP;
	case STEPWISE_MALFORMED_CHECKSUM:
		count(PARCEL_COUNTER_MALFORMED_CHECKSUM);
		return XDP_DROP;
	case STEPWISE_OURS:
		break;
	}
	udp = stepwise_udp((void *)(long)context->data, (void *)(long)context->data_end, udp_offset,
			   PARCEL_WIRE_SIZE);
	if (!udp)
		return XDP_ABORTED;
	payload = (unsigned char *)(udp + 1);
	index = payload[PARCEL_WIRE_INDEX];
	switch (payload[PARCEL_WIRE_KIND]) {
	case PARCEL_ECHO:
		count(PARCEL_COUNTER_ECHOED);
		stepwise_correct_checksum(udp, stepwise_replace(payload, PARCEL_WIRE_KIND, 1,
								PARCEL_ECHOED));
		return stepwise_turn_round((void *)(long)context->data,
					   (void *)(long)context->data_end, udp) ?
			       XDP_TX :
			       XDP_ABORTED;
	case PARCEL_FETCH:
		word = bpf_map_lookup_elem(&shelf, &index);
		if (!word)
			return XDP_DROP;
		stepwise_correct_checksum(udp, stepwise_replace(payload, PARCEL_WIRE_LENGTH, 2,
								PARCEL_LENGTH(*word)));
	}
	count(PARCEL_COUNTER_FORWARDED);
	action = stepwise_to_daemon(context, udp_offset + bpf_ntohs(udp->len),
				    PARCEL_FRAME_BYTES_MAX);
	return action == STEPWISE_NO_DAEMON ? XDP_PASS : action;
}

SEC("tc")
int parcel_tc(struct __sk_buff *skb)
{
	const __u32 headers_size = STEPWISE_UDP_OFFSET_IPV6 + sizeof(struct udphdr);
	const __u32 size_max = headers_size + PARCEL_WIRE_SIZE;
	const unsigned char *sent = NULL;
	unsigned char *payload;
	__u32 udp_offset = 0, index;
	struct udphdr *udp;
	__u64 change, *word;

	if (skb->ingress_ifindex)
		return TC_ACT_UNSPEC;
	if (skb->data_end - skb->data < size_max &&
	    bpf_skb_pull_data(skb, size_max < skb->len ? size_max : skb->len) &&
	    skb->data_end - skb->data < headers_size)
		return TC_ACT_SHOT;
	switch (stepwise_parse_sent_tailed(skb, PARCEL_PORT, PARCEL_WIRE_SIZE,
					   parcel_message_tail_size, &udp_offset, &sent)) {
	case STEPWISE_FOREIGN:
		count(PARCEL_COUNTER_TC_FOREIGN);
		return TC_ACT_UNSPEC;
	case STEPWISE_MALFORMED:
	case STEPWISE_MALFORMED_CHECKSUM:
		count(PARCEL_COUNTER_TC_MALFORMED);
		return TC_ACT_SHOT;
	case STEPWISE_OURS:
		break;
	}
	if (!stepwise_is_from_daemon(skb)) {
		count(PARCEL_COUNTER_TC_STRANGER);
		return TC_ACT_SHOT;
	}
	udp = stepwise_udp((void *)(long)skb->data, (void *)(long)skb->data_end, udp_offset,
			   PARCEL_WIRE_SIZE);
	if (!udp)
		return TC_ACT_SHOT;
	payload = (unsigned char *)(udp + 1);
	index = payload[PARCEL_WIRE_INDEX];
	word = bpf_map_lookup_elem(&shelf, &index);
	if (!word || (__u8)PARCEL_GENERATION(*word) != payload[PARCEL_WIRE_GENERATION])
		return TC_ACT_SHOT;
	count(PARCEL_COUNTER_COMPLETED);
	change = stepwise_replace(payload, PARCEL_WIRE_KIND, 1,
				  payload[PARCEL_WIRE_KIND] | PARCEL_COMPLETED);
	bpf_l4_csum_replace(skb, udp_offset + offsetof(struct udphdr, check), 0,
			    (__u16)~stepwise_fold(change), BPF_F_MARK_MANGLED_0);
	return TC_ACT_OK;
}
