/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Chooses what a slot of `just bench occ` asks for. It locks a key of its own and commits or aborts
 * that, over and over; or it gets any key, or inserts the keys of a load. With BENCH_OPERATIONS, a
 * message gets so many keys, or it settles half as many and locks the next ones. See bench.py,
 * spec/kv/bench/bench_workload.h and harness/bench/slots.h.
 */
#ifndef OCC_BENCH_H
#define OCC_BENCH_H

#include "occ_codec.h"

#define STORE_CONSTANT(name) OCC_##name
#include "store_bench.h"
#include "bench_names.h"

/*
 * The upper parts of a slot's words.
 * SEQUENCE, above the sequence number: the version that the slot's keys had before its first round
 * over them, less one.
 * ASKED, above the sequence number: the kind of the last request, and above that whether there was
 * any.
 * KEY, of a slot that locks: how many keys it has gone over.
 */
#define BENCH_UPPER 32
#define BENCH_HAS_ASKED (1ULL << 40)

static __always_inline __u32 bench_asked(const struct bench_slot *slot)
{
	return slot->state[BENCH_ASKED] >> BENCH_UPPER & 0xff;
}

/* Returns the version of a key that was committed in each of the slot's rounds over its keys. */
static __always_inline __u32 bench_version(const struct bench_slot *slot, const __u64 *parameters,
					   __u64 turn)
{
	const __u64 rounds = parameters[BENCH_ABORTS] ? 0 : turn / parameters[BENCH_OWN];

	return (slot->state[BENCH_SEQUENCE] >> BENCH_UPPER) + 1 + rounds;
}

/* Writes and locks count up. Reads may have any number that tells their answers apart. */
static __always_inline __u32 bench_sequence(struct bench_slot *slot, bool reads)
{
	const __u32 next = ((__u32)slot->state[BENCH_SEQUENCE] + 1) % OCC_SEQUENCE_MODULUS;

	if (reads)
		return slot->round_trips % OCC_SEQUENCE_MODULUS;
	slot->state[BENCH_SEQUENCE] = slot->state[BENCH_SEQUENCE] >> BENCH_UPPER << BENCH_UPPER |
				      next;
	return next;
}

#ifdef BENCH_OPERATIONS
_Static_assert(BENCH_OPERATIONS <= 2 * OCC_INTENTS, "each lock has a place of its own");

/* Returns what an answer says of an operation. */
static __always_inline __u32 bench_outcome_of(const unsigned char *operation)
{
	switch (stepwise_read(operation + OCC_OPERATION_KIND, 1)) {
	case OCC_MESSAGE_KIND_VALUE:
		return bench_is_value(operation + OCC_OPERATION_LENGTH,
				      operation + OCC_OPERATION_VALUE,
				      stepwise_read(operation + OCC_OPERATION_KEY, 8)) ?
			       BENCH_VALUE :
			       BENCH_OTHER;
	case OCC_MESSAGE_KIND_MISSING:
		return BENCH_MISSING;
	case OCC_MESSAGE_KIND_GRANTED:
		return BENCH_GRANTED;
	case OCC_MESSAGE_KIND_COMMITTED:
	case OCC_MESSAGE_KIND_ABORTED:
		return BENCH_SETTLED;
	default:
		return BENCH_REFUSED; /* or left to be asked for alone */
	}
}

/* Takes over the version in the first conflict of an answer: it is right for the keys beside it. */
static __always_inline void bench_learn(struct bench_slot *slot, const __u64 *parameters,
					const unsigned char *operation, __u64 turn)
{
	if (stepwise_read(operation + OCC_OPERATION_KIND, 1) == OCC_MESSAGE_KIND_CONFLICT)
		slot->state[BENCH_SEQUENCE] +=
			(__u64)(__u32)(stepwise_read(operation + OCC_OPERATION_VERSION, 4) -
				       bench_version(slot, parameters, turn))
			<< BENCH_UPPER;
}

static __always_inline void bench_write_operation(unsigned char *operation, __u32 kind, __u32 place,
						  __u64 key, __u32 version)
{
	stepwise_write(operation + OCC_OPERATION_KIND, 1, kind);
	stepwise_write(operation + OCC_OPERATION_PLACE, 1, place);
	stepwise_write(operation + OCC_OPERATION_DELETES, 1, 0);
	stepwise_write(operation + OCC_OPERATION_LOCKED, 1, 0);
	stepwise_write(operation + OCC_OPERATION_KEY, 8, key);
	stepwise_write(operation + OCC_OPERATION_VERSION, 4, version);
	bench_put_value(operation + OCC_OPERATION_LENGTH, operation + OCC_OPERATION_VALUE,
			kind == OCC_MESSAGE_KIND_LOCK ? BENCH_VALUE_SIZE : 0, key);
}

/* The first half of a message settles what the second half of the one before has locked. */
static __always_inline void bench_next_operation(struct bench_slot *slot, const __u64 *parameters,
						 unsigned char *operation, __u32 number)
{
	const __u32 half = BENCH_OPERATIONS / 2, place = number % half;
	const __u64 turn = slot->state[BENCH_KEY] + place, before = turn - half;

	if (!parameters[BENCH_OWN])
		bench_write_operation(operation, OCC_MESSAGE_KIND_GET, 0,
				      bench_key(bench_draw(slot)), 0);
	else if (number >= half)
		bench_write_operation(operation, OCC_MESSAGE_KIND_LOCK, place,
				      bench_own_key(slot->state[BENCH_CLIENT], turn, parameters),
				      bench_version(slot, parameters, turn));
	else
		bench_write_operation(operation,
				      parameters[BENCH_ABORTS] ? OCC_MESSAGE_KIND_ABORT :
								 OCC_MESSAGE_KIND_COMMIT,
				      place,
				      bench_own_key(slot->state[BENCH_CLIENT],
						    turn < half ? turn : before, parameters),
				      0);
}

static __always_inline __u32 bench_next_request(struct bench_slot *slot, const __u64 *parameters,
						unsigned char *payload)
{
	const __u32 kind = stepwise_read(payload + OCC_WIRE_KIND, 1);
	const bool answered = kind == OCC_MESSAGE_KIND_FETCHED || kind == OCC_MESSAGE_KIND_GATHERED;
	const bool reads = !parameters[BENCH_OWN];
	__u32 outcome = BENCH_OTHER;

	if (answered && !reads && slot->state[BENCH_KEY])
		bench_learn(slot, parameters,
			    payload + OCC_WIRE_SIZE + BENCH_OPERATIONS / 2 * OCC_OPERATION_SIZE,
			    slot->state[BENCH_KEY] - BENCH_OPERATIONS / 2);
	for (__u32 i = 0; i < BENCH_OPERATIONS; i++) {
		unsigned char *operation = payload + OCC_WIRE_SIZE + i * OCC_OPERATION_SIZE;

		if (i && answered && outcome < BENCH_OUTCOMES)
			slot->outcomes[outcome]++;
		outcome = answered ? bench_outcome_of(operation) : BENCH_OTHER;
		bench_next_operation(slot, parameters, operation, i);
	}
	slot->state[BENCH_KEY] += reads ? 0 : BENCH_OPERATIONS / 2;
	bench_write_request(slot, payload, reads ? OCC_MESSAGE_KIND_FETCH : OCC_MESSAGE_KIND_GATHER,
			    bench_sequence(slot, reads), 0, 0);
	stepwise_write(payload + OCC_WIRE_COUNT, 1, BENCH_OPERATIONS);
	return outcome;
}
#else
/*
 * Reads only the fields that it checks: the client's work is part of every round trip. The
 * reflector's answer is the request itself.
 */
static __always_inline __u32 bench_outcome(const struct bench_slot *slot,
					   const unsigned char *payload)
{
	const __u32 kind = stepwise_read(payload + OCC_WIRE_KIND, 1);

	if (!kind || !slot->state[BENCH_ASKED])
		return BENCH_OTHER;
	if (stepwise_read(payload + OCC_WIRE_SEQUENCE, 4) != (__u32)slot->state[BENCH_ASKED])
		return BENCH_STALE;
	switch (kind) {
	case OCC_MESSAGE_KIND_VALUE:
		return bench_has_value(payload, slot->state[BENCH_KEY]) ? BENCH_VALUE : BENCH_OTHER;
	case OCC_MESSAGE_KIND_MISSING:
		return BENCH_MISSING;
	case OCC_MESSAGE_KIND_LOCK:
	case OCC_MESSAGE_KIND_GRANTED:
		return BENCH_GRANTED;
	case OCC_MESSAGE_KIND_COMMIT:
	case OCC_MESSAGE_KIND_ABORT:
	case OCC_MESSAGE_KIND_COMMITTED:
	case OCC_MESSAGE_KIND_ABORTED:
		return BENCH_SETTLED;
	case OCC_MESSAGE_KIND_INSERTED:
		return BENCH_INSERTED;
	case OCC_MESSAGE_KIND_EXISTS:
	case OCC_MESSAGE_KIND_NO_ROOM:
	case OCC_MESSAGE_KIND_CONFLICT:
	case OCC_MESSAGE_KIND_REFUSED:
		return BENCH_REFUSED;
	default:
		return BENCH_OTHER;
	}
}

/*
 * Takes over the version in a conflict's answer. It is right for this key and, most of the time,
 * for the slot's other keys. The slot skips a key that has the expected version already, because an
 * earlier run left it locked, and a key that was never inserted for want of room.
 */
static __always_inline void bench_learn(struct bench_slot *slot, const __u64 *parameters,
					const unsigned char *payload)
{
	const __u32 told = stepwise_read(payload + OCC_WIRE_VERSION, 4);
	const __u32 wrong = told - bench_version(slot, parameters, slot->state[BENCH_KEY]);

	if (told && wrong)
		slot->state[BENCH_SEQUENCE] += (__u64)wrong << BENCH_UPPER;
	else
		slot->state[BENCH_KEY]++;
}

/*
 * Chooses the kind that follows: after a granted lock a commit or an abort, after a lock of unknown
 * outcome an abort, otherwise the next lock.
 */
static __always_inline __u32 bench_next_kind(struct bench_slot *slot, const __u64 *parameters,
					     const unsigned char *payload, __u32 outcome)
{
	const bool locked = bench_asked(slot) == OCC_MESSAGE_KIND_LOCK;

	if (locked && outcome == BENCH_GRANTED)
		return parameters[BENCH_ABORTS] ? OCC_MESSAGE_KIND_ABORT : OCC_MESSAGE_KIND_COMMIT;
	if (locked && stepwise_read(payload + OCC_WIRE_KIND, 1) != OCC_MESSAGE_KIND_CONFLICT)
		return OCC_MESSAGE_KIND_ABORT;
	if (locked)
		bench_learn(slot, parameters, payload);
	else
		slot->state[BENCH_KEY]++;
	return OCC_MESSAGE_KIND_LOCK;
}

static __always_inline __u32 bench_next_request(struct bench_slot *slot, const __u64 *parameters,
						unsigned char *payload)
{
	const __u32 outcome = bench_outcome(slot, payload);
	__u32 kind, sequence;
	__u64 key;

	if (outcome == BENCH_STALE)
		return outcome;
	if (bench_is_loaded(slot, parameters))
		return outcome | BENCH_DONE;
	if (parameters[BENCH_OWN]) {
		kind = bench_next_kind(slot, parameters, payload, outcome);
		key = bench_own_key(slot->state[BENCH_CLIENT], slot->state[BENCH_KEY], parameters);
	} else {
		kind = bench_choose(slot, parameters, &key) == BENCH_GET ? OCC_MESSAGE_KIND_GET :
									   OCC_MESSAGE_KIND_INSERT;
		slot->state[BENCH_KEY] = key;
	}
	sequence = bench_sequence(slot, kind == OCC_MESSAGE_KIND_GET);
	slot->state[BENCH_ASKED] = BENCH_HAS_ASKED | (__u64)kind << BENCH_UPPER | sequence;
	bench_write_request(slot, payload, kind, sequence, key,
			    kind == OCC_MESSAGE_KIND_LOCK ?
				    bench_version(slot, parameters, slot->state[BENCH_KEY]) :
				    0);
	stepwise_write(payload + OCC_WIRE_PLACE, 1, 0);
	stepwise_write(payload + OCC_WIRE_DELETES, 1, 0);
	stepwise_write(payload + OCC_WIRE_LOCKED, 1, 0);
	if (kind == OCC_MESSAGE_KIND_LOCK || kind == OCC_MESSAGE_KIND_INSERT)
		bench_write_value(payload, key);
	else
		bench_write_no_value(payload);
	return outcome;
}
#endif

#endif
