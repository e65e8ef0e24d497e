/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Chooses what a slot of `just bench` asks DINT's lock server for: the same as bench.h asks the
 * generated one for. Numbers are little endian.
 */
#ifndef LOCK_BENCH_DINT_H
#define LOCK_BENCH_DINT_H

#include "slots.h"
#include "bench_names.h"

#define BENCH_PAYLOAD_SIZE 6

/* The words of a slot's state. spec/lock/bench/bench.py sets them. */
enum {
	BENCH_CLIENT,
	BENCH_LOCK,
	BENCH_MODE,
	BENCH_ASKED
};

enum dint_action {
	DINT_ACQUIRE,
	DINT_RELEASE,
	DINT_GRANTED,
	DINT_REJECTED,
	DINT_BUSY, /* another request has the cell: ask again */
	DINT_RELEASED
};

enum dint_mode {
	DINT_SHARED,
	DINT_EXCLUSIVE
};

struct dint_message {
	__u8 action;
	__u32 lock;
	__u8 mode;
} __attribute__((packed));

_Static_assert(sizeof(struct dint_message) == BENCH_PAYLOAD_SIZE, "nothing but the fields");

/* A blank answer looks like a request to acquire. */
static __always_inline __u32 bench_outcome(__u8 action)
{
	switch (action) {
	case DINT_GRANTED:
		return BENCH_GRANTED;
	case DINT_REJECTED:
		return BENCH_REJECTED;
	case DINT_RELEASED:
		return BENCH_RELEASED;
	case DINT_BUSY:
		return BENCH_AGAIN;
	default:
		return BENCH_OTHER;
	}
}

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
	struct dint_message *message = (void *)payload;
	const __u32 outcome = bench_outcome(message->action);
	__u64 random;

	if (outcome == BENCH_GRANTED) {
		slot->state[BENCH_ASKED] = DINT_RELEASE;
	} else if (outcome != BENCH_AGAIN) {
		random = bench_random(slot);
		slot->state[BENCH_ASKED] = DINT_ACQUIRE;
		slot->state[BENCH_LOCK] = bench_choose(slot, parameters, random);
		slot->state[BENCH_MODE] = (random & 255) < parameters[BENCH_SHARED_OF_256] ?
						  DINT_SHARED :
						  DINT_EXCLUSIVE;
	}
	message->action = slot->state[BENCH_ASKED];
	message->lock = slot->state[BENCH_LOCK];
	message->mode = slot->state[BENCH_MODE];
	return outcome;
}

#endif
