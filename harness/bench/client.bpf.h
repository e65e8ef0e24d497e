/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Common parts of the benchmark's clients: slots, how they stop, and the numbers that they draw.
 * A client defines BENCH_PAYLOAD_SIZE, the bytes of the longest answer, before it includes this.
 */
#ifndef BENCH_CLIENT_BPF_H
#define BENCH_CLIENT_BPF_H

#include "frame.bpf.h"
#include <linux/in.h>
#include <bpf/bpf_endian.h>
#include "slots.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, BENCH_SLOTS_MAX);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct bench_slot);
} slots SEC(".maps");

/* A slot's last answer before the stop. The slot goes on from it in the next run. */
struct bench_answer {
	unsigned char payload[(BENCH_PAYLOAD_SIZE + 7) / 8 * 8];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, BENCH_SLOTS_MAX);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct bench_answer);
} answers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, BENCH_INTERVALS_MAX);
	__type(key, __u32);
	__type(value, struct bench_interval);
} intervals SEC(".maps");

struct bench_control control;

static __always_inline __u64 bench_draw(struct bench_slot *slot)
{
	const __u64 random = bench_random(slot), within = bench_random(slot);
	const __u32 index = bench_below(random, control.intervals);
	const struct bench_interval *interval = bpf_map_lookup_elem(&intervals, &index);

	if (!interval)
		return 0;
	return (__u32)random <= interval->threshold ?
		       interval->first + bench_below(within, interval->count) :
		       interval->other_first + bench_below(within, interval->other_count);
}

static __always_inline __u64 bench_share(const struct bench_slot *slot)
{
	return slot->round_trips * control.slots + slot->index;
}

/* The slot that a packet of the server is for, or NULL. */
static __always_inline struct bench_slot *bench_slot_of(const struct bench_frame *frame,
							__u32 *index)
{
	if (frame->ethernet.h_proto != bpf_htons(ETH_P_IP) || frame->ip.protocol != IPPROTO_UDP ||
	    frame->udp.source != bpf_htons(control.port))
		return NULL;
	*index = bpf_ntohs(frame->udp.dest) - BENCH_PORT_FIRST;
	return bpf_map_lookup_elem(&slots, index);
}

/* Counts the outcome of the slot's answer. False if no request follows. */
static __always_inline bool bench_goes_on(struct bench_slot *slot, __u32 outcome)
{
	const __u32 number = outcome & (BENCH_STALE - 1);

	if (outcome & BENCH_STALE)
		return false;
	if (outcome & BENCH_AGAIN)
		return true;
	if (number < BENCH_OUTCOMES)
		slot->outcomes[number]++;
	slot->round_trips++;
	if (outcome & BENCH_DONE)
		slot->drained = 1;
	return !(outcome & BENCH_DONE);
}

/* Keeps the answer that comes back after the stop. The frame is as long as the longest answer. */
static __always_inline void bench_stop(const struct bench_frame *frame, struct bench_slot *slot,
				       __u32 index)
{
	struct bench_answer *answer = bpf_map_lookup_elem(&answers, &index);

	if (answer)
		__builtin_memcpy(answer->payload, frame->payload, BENCH_PAYLOAD_SIZE);
	slot->drained = 1;
}

#endif
