/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Chooses what a slot of `just bench` asks a lock server for: it acquires a random lock and
 * releases it, over and over. See harness/bench/slots.h.
 */
#ifndef LOCK_BENCH_H
#define LOCK_BENCH_H

#include "slots.h"
#include "lock_codec.h"

#define BENCH_PAYLOAD_SIZE LOCK_WIRE_SIZE

/* The parameters of the workload, and the words of a slot's state. spec/lock/bench/bench.py sets
 * them. */
enum {
	BENCH_LOCKS,
	BENCH_OWN,
	BENCH_SHARED_OF_256
};
enum {
	BENCH_CLIENT,
	BENCH_SECRET,
	BENCH_SEQUENCE,
	BENCH_LOCK,
	BENCH_ASKED
};

/* The outcomes, in the order of spec/lock/bench/bench.py. */
enum {
	BENCH_GRANTED,
	BENCH_REJECTED,
	BENCH_RELEASED,
	BENCH_OTHER
};

static __always_inline __u32 bench_outcome(enum lock_message_kind kind)
{
	switch (kind) {
	case LOCK_MESSAGE_KIND_GRANTED:
		return BENCH_GRANTED;
	case LOCK_MESSAGE_KIND_REJECTED:
		return BENCH_REJECTED;
	case LOCK_MESSAGE_KIND_RELEASED:
		return BENCH_RELEASED;
	default:
		return BENCH_OTHER;
	}
}

/* Chooses one of all locks, or one of the few that only this slot asks for. */
static __always_inline __u64 bench_choose(const struct bench_slot *slot, const __u64 *parameters,
					  __u64 random)
{
	if (parameters[BENCH_OWN])
		return 1 + slot->state[BENCH_CLIENT] * parameters[BENCH_OWN] +
		       bench_below(random, parameters[BENCH_OWN]);
	return 1 + bench_below(random, parameters[BENCH_LOCKS]);
}

static __always_inline __u32 bench_next_request(struct bench_slot *slot, const __u64 *parameters,
						unsigned char *payload)
{
	struct lock_message answer, request = {
		.client = slot->state[BENCH_CLIENT],
		.secret = slot->state[BENCH_SECRET],
	};
	__u32 outcome;

	lock_message_decode(payload, &answer);
	outcome = bench_outcome(answer.kind);
	if (slot->state[BENCH_ASKED] == LOCK_MESSAGE_KIND_ACQUIRE && outcome != BENCH_REJECTED) {
		request.kind = LOCK_MESSAGE_KIND_RELEASE;
	} else {
		__u64 random = bench_random(slot);

		request.kind = LOCK_MESSAGE_KIND_ACQUIRE;
		request.mode = (random & 255) < parameters[BENCH_SHARED_OF_256] ?
				       LOCK_LOCK_MODE_SHARED :
				       LOCK_LOCK_MODE_EXCLUSIVE;
		slot->state[BENCH_LOCK] = bench_choose(slot, parameters, random);
	}
	slot->state[BENCH_ASKED] = request.kind;
	slot->state[BENCH_SEQUENCE] = (slot->state[BENCH_SEQUENCE] + 1) % LOCK_SEQUENCE_MODULUS;
	request.sequence = slot->state[BENCH_SEQUENCE];
	request.lock = slot->state[BENCH_LOCK];
	lock_message_encode(payload, &request);
	return outcome;
}

#endif
