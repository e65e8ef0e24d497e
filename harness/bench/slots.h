/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Slots, as a protocol's workload uses them. A workload is spec/<protocol>/bench/bench.h, or fill.h
 * for `just fill`. It defines
 *
 *   BENCH_PAYLOAD_SIZE   bytes of every message on the wire
 *   bench_next_request() turns the answer in `payload` into the slot's next
 *                        request, and returns the outcome of the answer
 *
 * An answer of all zeros is blank: it means no answer. A slot starts with one, and gets another
 * when it has waited too long, and must go on with another request or the same. The reflector
 * answers with the request itself; the workload then goes on as if the request had succeeded.
 */
#ifndef BENCH_SLOTS_H
#define BENCH_SLOTS_H

#include <linux/types.h>

#define BENCH_PORT_FIRST 40000 /* the port of slot 0 */
#define BENCH_SLOTS_MAX 4096
#define BENCH_OUTCOMES 7
#define BENCH_STATE_WORDS 5
#define BENCH_PARAMETERS 8
#define BENCH_INTERVALS_MAX 512

/* Instead of an outcome: the packet does not answer the slot's request, so the slot waits on. */
#define BENCH_STALE 0x100
/* Beside an outcome: the slot has no request left. */
#define BENCH_DONE 0x200
/* Instead of an outcome: no answer came, so the slot sends the same request again. */
#define BENCH_AGAIN 0x400

/* A slot is a client with one request outstanding. It fills two cache lines. */
struct bench_slot {
	__u64 random;			/* state of its generator; not zero */
	__u64 state[BENCH_STATE_WORDS]; /* the workload's own */
	__u64 round_trips;		/* in this run */
	__u64 drained;			/* its packet came back after the stop, or it is done */
	__u64 index;			/* of the slot */
	__u64 outcomes[BENCH_OUTCOMES];
};

struct bench_control {
	__u64 parameters[BENCH_PARAMETERS]; /* the workload's own */
	__u32 stopped;
	__u32 with_checksum;
	__u32 slots;
	__u32 intervals;
	__u32 port; /* the server's */
	__u32 unused;
};

/* An entry of the table to draw from. Its threshold picks one of two ranges of numbers: see
 * harness/bench/workload.py. */
struct bench_interval {
	__u64 first, other_first;
	__u32 count, other_count;
	__u32 threshold;
	__u32 unused;
};

/* xorshift64*: good enough to spread keys, in a handful of instructions. */
static __always_inline __u64 bench_random(struct bench_slot *slot)
{
	slot->random ^= slot->random >> 12;
	slot->random ^= slot->random << 25;
	slot->random ^= slot->random >> 27;
	return slot->random * 0x2545f4914f6cdd1dULL;
}

/* A number below `bound`, from the upper half of a random one. */
static __always_inline __u64 bench_below(__u64 random, __u64 bound)
{
	return (random >> 32) * bound >> 32;
}

/* Draws one of the workload's numbers, each as often as the workload says. */
static __always_inline __u64 bench_draw(struct bench_slot *slot);

/* The slot's next number, if slots share out the numbers from 0 on. Each comes once in a run. */
static __always_inline __u64 bench_share(const struct bench_slot *slot);

#endif
