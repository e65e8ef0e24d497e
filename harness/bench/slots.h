/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What a protocol's workload, spec/<protocol>/bench.h, is made for. It defines
 *
 *   BENCH_PORT_SERVER    the server's UDP port
 *   BENCH_PAYLOAD_SIZE   bytes of every message on the wire
 *   bench_next_request() turns the answer in `payload` into the slot's next
 *                        request, and says which of its outcomes the answer was
 *
 * The first answer of a slot is all zeros, and is no answer to anything. Against the reflector the answer is the
 * request itself: the workload goes on as if it had succeeded.
 */
#ifndef BENCH_SLOTS_H
#define BENCH_SLOTS_H

#include <linux/types.h>

#define BENCH_PORT_FIRST 40000 /* of slot 0 */
#define BENCH_SLOTS_MAX 4096
#define BENCH_OUTCOMES 8
#define BENCH_STATE_WORDS 5
#define BENCH_PARAMETERS 8

/* A slot is a client with one request outstanding. Two cache lines. */
struct bench_slot {
	__u64 random;                    /* state of its generator; not zero */
	__u64 state[BENCH_STATE_WORDS];  /* the workload's own */
	__u64 round_trips;
	__u64 drained;                   /* its packet came back after the stop */
	__u64 outcomes[BENCH_OUTCOMES];
};

struct bench_control {
	__u64 parameters[BENCH_PARAMETERS];  /* the workload's own */
	__u32 stopped;
	__u32 with_checksum;
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

#endif
