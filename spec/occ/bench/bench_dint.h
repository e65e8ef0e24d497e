/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Chooses what a slot of `just bench occ` asks DINT's lock server of optimistic transactions for:
 * as bench.h, it locks a key of its own and commits or aborts that. Numbers are little endian.
 */
#ifndef OCC_BENCH_DINT_H
#define OCC_BENCH_DINT_H

#include "bpf/stepwise_c.h"
#include "bench_names.h"

#define BENCH_PAYLOAD_SIZE 9

/* The words of a slot's state. TURN: how many keys it has gone over. */
enum {
	BENCH_CLIENT,
	BENCH_TURN
};

enum dint_type {
	DINT_READ,
	DINT_LOCK,
	DINT_ABORT,
	DINT_COMMIT,
	DINT_READ_DONE,
	DINT_GRANTED,
	DINT_REJECTED,
	DINT_ABORTED,
	DINT_COMMITTED
};

struct dint_message {
	__u8 type;
	__u32 lock;
	__u32 version;
} __attribute__((packed));

_Static_assert(sizeof(struct dint_message) == BENCH_PAYLOAD_SIZE, "nothing but the fields");

static __always_inline __u32 bench_outcome(__u8 type)
{
	switch (type) {
	case DINT_GRANTED:
		return BENCH_GRANTED;
	case DINT_REJECTED:
		return BENCH_REFUSED;
	case DINT_ABORTED:
	case DINT_COMMITTED:
		return BENCH_SETTLED;
	default: /* also a blank answer */
		return BENCH_OTHER;
	}
}

/* It has nothing to be loaded. */
static __always_inline __u32 bench_next_request(struct bench_slot *slot, const __u64 *parameters,
						unsigned char *payload)
{
	struct dint_message *message = (void *)payload;
	const __u32 outcome = bench_outcome(message->type);

	if (parameters[BENCH_LOADS])
		return outcome | BENCH_DONE;
	if (outcome == BENCH_GRANTED) {
		message->type = parameters[BENCH_ABORTS] ? DINT_ABORT : DINT_COMMIT;
	} else {
		message->type = DINT_LOCK;
		message->lock = bench_own_key(slot->state[BENCH_CLIENT], slot->state[BENCH_TURN]++,
					      parameters);
	}
	return outcome;
}

#endif
