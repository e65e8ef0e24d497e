/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Chooses what a slot of `just bench` asks a lock server for: it acquires a random lock and
 * releases it, over and over. With BENCH_OPERATIONS, it does so with as many locks in each message.
 * See harness/bench/slots.h.
 */
#ifndef LOCK_BENCH_H
#define LOCK_BENCH_H

#include "slots.h"
#include "bench_names.h"
#include "lock_codec.h"

#ifdef BENCH_OPERATIONS
#define BENCH_PAYLOAD_SIZE (LOCK_WIRE_SIZE + BENCH_OPERATIONS * LOCK_OPERATION_SIZE)
#define BENCH_GATHERS
#else
#define BENCH_PAYLOAD_SIZE LOCK_WIRE_SIZE
#define BENCH_OPERATIONS 1
#endif

/* The words of a slot's state. spec/lock/bench/bench.py sets them. */
enum {
	BENCH_CLIENT,
	BENCH_SECRET,
	BENCH_SEQUENCE,
	BENCH_LOCK,
	BENCH_ASKED
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
	case LOCK_MESSAGE_KIND_ACQUIRE:
	case LOCK_MESSAGE_KIND_RELEASE:
		return BENCH_LEFT_ALONE;
	default:
		return BENCH_OTHER;
	}
}

/* Chooses one of all locks, or one of the few that only this operation of this slot asks for. */
static __always_inline __u64 bench_choose(const struct bench_slot *slot, const __u64 *parameters,
					  __u64 random, __u32 number)
{
	const __u64 owner = slot->state[BENCH_CLIENT] * BENCH_OPERATIONS + number;

	if (parameters[BENCH_OWN])
		return 1 + owner * parameters[BENCH_OWN] +
		       bench_below(random, parameters[BENCH_OWN]);
	return 1 + bench_below(random, parameters[BENCH_LOCKS]);
}

/* Asks for another lock. */
static __always_inline void bench_acquire(struct bench_slot *slot, const __u64 *parameters,
					  struct lock_message *request, __u32 number)
{
	const __u64 random = bench_random(slot);

	request->kind = LOCK_MESSAGE_KIND_ACQUIRE;
	request->mode = (random & 255) < parameters[BENCH_SHARED_OF_256] ? LOCK_LOCK_MODE_SHARED :
									   LOCK_LOCK_MODE_EXCLUSIVE;
	request->lock = bench_choose(slot, parameters, random, number);
}

static __always_inline void bench_count_up(struct bench_slot *slot, struct lock_message *request)
{
	slot->state[BENCH_SEQUENCE] = (slot->state[BENCH_SEQUENCE] + 1) % LOCK_SEQUENCE_MODULUS;
	request->sequence = slot->state[BENCH_SEQUENCE];
}

#ifdef BENCH_GATHERS
/* Releases what was granted, and acquires another lock in place of each that was released, refused
 * or left alone. */
static __always_inline __u32 bench_next_operation(struct bench_slot *slot, const __u64 *parameters,
						  unsigned char *payload, __u32 number,
						  bool answered)
{
	struct lock_message answer = {}, request = {};
	__u32 outcome;

	lock_operation_decode(payload, &answer);
	outcome = answered ? bench_outcome(answer.kind) : BENCH_OTHER;
	if (outcome == BENCH_GRANTED || answer.kind == LOCK_MESSAGE_KIND_RELEASE) {
		request.kind = LOCK_MESSAGE_KIND_RELEASE;
		request.lock = answer.lock;
	} else {
		bench_acquire(slot, parameters, &request, number);
	}
	lock_operation_encode(payload, &request);
	return outcome;
}

static __always_inline __u32 bench_next_request(struct bench_slot *slot, const __u64 *parameters,
						unsigned char *payload)
{
	struct lock_message answer, request = {
		.kind = LOCK_MESSAGE_KIND_GATHER,
		.client = slot->state[BENCH_CLIENT],
		.secret = slot->state[BENCH_SECRET],
		.count = BENCH_OPERATIONS,
	};
	__u32 outcome = BENCH_OTHER;

	lock_message_decode(payload, &answer);
	for (__u32 i = 0; i < BENCH_OPERATIONS; i++) {
		if (i && outcome < BENCH_OUTCOMES && answer.kind == LOCK_MESSAGE_KIND_GATHERED)
			slot->outcomes[outcome]++;
		outcome = bench_next_operation(slot, parameters,
					       payload + LOCK_WIRE_SIZE + i * LOCK_OPERATION_SIZE,
					       i, answer.kind == LOCK_MESSAGE_KIND_GATHERED);
	}
	bench_count_up(slot, &request);
	lock_message_encode(payload, &request);
	return outcome;
}
#else
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
		request.lock = slot->state[BENCH_LOCK];
	} else {
		bench_acquire(slot, parameters, &request, 0);
		slot->state[BENCH_LOCK] = request.lock;
	}
	slot->state[BENCH_ASKED] = request.kind;
	bench_count_up(slot, &request);
	lock_message_encode(payload, &request);
	return outcome;
}
#endif

#endif
