// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The client of the benchmark, on the peer of the server's interface. It turns each
 * answer into the next request, so that userspace does not limit the run. Each slot
 * has its own UDP port. The protocol's workload chooses the requests.
 */
#ifndef BENCH_REQUESTS
#define BENCH_REQUESTS "bench.h" /* the protocol's spec/<protocol>/bench/bench.h */
#endif
#include BENCH_REQUESTS
#include "client.bpf.h"
#include "pace.bpf.h"
#include "bpf/stepwise_wire.h"

#define UDP_SIZE (sizeof(struct udphdr) + BENCH_PAYLOAD_SIZE)
#define FRAME_SIZE (sizeof(struct bench_frame) + BENCH_PAYLOAD_SIZE)

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} server SEC(".maps");

/* Makes the slot's next request. False if the slot sends nothing now. */
static __always_inline bool next_request(struct bench_frame *frame, struct bench_slot *slot)
{
	const __u32 outcome = bench_next_request(slot, control.parameters, frame->payload);
	__u64 sum;

	if (!bench_goes_on(slot, outcome))
		return false;
	frame->udp.check = 0;
	if (!control.with_checksum)
		return true;
	sum = bpf_htons(IPPROTO_UDP) + (__u64)frame->udp.len;
	sum += stepwise_sum((const unsigned char *)&frame->ip.saddr, 8, 0);
	sum += stepwise_sum((const unsigned char *)&frame->udp, UDP_SIZE, 0);
	frame->udp.check = ~stepwise_fold(sum);
	if (!frame->udp.check)
		frame->udp.check = 0xffff;
	return true;
}

static __always_inline int bench_ask(struct xdp_md *ctx, bool paced)
{
	struct bench_frame *frame = (void *)(long)ctx->data;
	struct bench_slot *slot;
	__u32 index;

	if ((void *)frame + FRAME_SIZE > (void *)(long)ctx->data_end)
		return XDP_PASS;
	slot = bench_slot_of(frame, &index);
	if (!slot)
		return XDP_PASS;
	if (control.stopped) {
		bench_stop(frame, slot, index);
		return XDP_DROP;
	}
	if (paced && !bench_is_due(index))
		return bench_wait();
	if (!next_request(frame, slot))
		return XDP_DROP;
	bench_turn_round(frame);
	return XDP_TX;
}

/*
 * For BPF_PROG_TEST_RUN, which hands the same buffer to every repetition. Turns
 * what the server left in the buffer into slot 0's next request, and tail-calls
 * the server.
 */
SEC("xdp")
int bench_driver(struct xdp_md *ctx)
{
	struct bench_frame *frame = (void *)(long)ctx->data;
	const __u32 index = 0;
	struct bench_slot *slot = bpf_map_lookup_elem(&slots, &index);

	if (!slot || (void *)frame + FRAME_SIZE > (void *)(long)ctx->data_end)
		return XDP_ABORTED;
	/* The server may have swapped the addresses, so they are set again. */
	frame->ip.saddr = bpf_htonl(0x0a4d0002);
	frame->ip.daddr = bpf_htonl(0x0a4d0001);
	frame->udp.source = bpf_htons(BENCH_PORT_FIRST);
	frame->udp.dest = bpf_htons(control.port);
	if (!next_request(frame, slot))
		return XDP_ABORTED;
	bpf_tail_call(ctx, &server, 0);
	return XDP_ABORTED;
}

char license_of_program[] SEC("license") = "Dual MIT/GPL";
