/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What a protocol's workload, spec/<protocol>/bench.h (or fill.h, of `just fill`), is made for. It
 * defines
 *
 *   BENCH_PAYLOAD_SIZE   bytes of every message on the wire
 *   bench_next_request() turns the answer in `payload` into the slot's next
 *                        request, and says which of its outcomes the answer was
 *
 * An answer of all zeros is none: a slot's first, and the one that it gets when it has waited for
 * too long and is to go on with another request, or with the same. Against the reflector the answer
 * is the request itself: the workload goes on as if it had succeeded.
 */
#ifndef BENCH_SLOTS_H
#define BENCH_SLOTS_H

#include <linux/types.h>

#define BENCH_PORT_FIRST 40000 /* of slot 0 */
#define BENCH_SLOTS_MAX 4096
#define BENCH_OUTCOMES 7
#define BENCH_STATE_WORDS 5
#define BENCH_PARAMETERS 8
#define BENCH_INTERVALS_MAX 512

/* Instead of an outcome: no answer to what the slot waits for, so it waits on. */
#define BENCH_STALE 0x100
/* Beside an outcome: the slot has nothing left to ask for. */
#define BENCH_DONE 0x200
/* Instead of an outcome: none came, so the slot asks for the same again. */
#define BENCH_AGAIN 0x400

/* A slot is a client with one request outstanding. Two cache lines. */
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

/* Numbers to draw, or others: see harness/bench/workload.py. */
struct bench_interval {
	__u64 first, other_first;
	__u32 count, other_count;
	__u32 threshold;
	__u32 unused;
};

/* xorshift64*: enough to spread keys, and a handful of instructions. */
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

/* One of the workload's numbers, as often as it says. */
static __always_inline __u64 bench_draw(struct bench_slot *slot);

/* Where slots share out numbers from 0 on: the slot's next one, each once in a run. */
static __always_inline __u64 bench_share(const struct bench_slot *slot);

#endif
