/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What a slot of `just bench occ` asks for: it locks a key of its own and commits or aborts that,
 * over and over; or it gets any key, or inserts those there are to be. See bench.py,
 * ../kv/bench_workload.h and harness/bench/slots.h.
 */
#ifndef OCC_BENCH_H
#define OCC_BENCH_H

#include "occ_codec.h"

#define STORE_CONSTANT(name) OCC_##name
#include "store_bench.h"

/* Parameters beside those of bench_workload.h. OWN: how many of KEYS each client has for itself; 0:
 * it locks none. */
enum {
	BENCH_OWN = BENCH_FIRST + 1,
	BENCH_KEYS,
	BENCH_ABORTS
};

/* Outcomes as bench.py names them: those of locks are in the places of those of the store's writes.
 */
enum {
	BENCH_GRANTED = BENCH_UPDATED,
	BENCH_SETTLED = BENCH_ABSENT
};

/*
 * In SEQUENCE, above the sequence number: the version that the slot's keys had before it went over
 * them, less one. In ASKED, above the sequence number: the kind that it asked for, and above that
 * whether it asked for anything. KEY is, of locks, how many keys the slot has gone over.
 */
#define BENCH_UPPER 32
#define BENCH_HAS_ASKED (1ULL << 40)

static __always_inline __u32 bench_asked(const struct bench_slot *slot)
{
	return slot->state[BENCH_ASKED] >> BENCH_UPPER & 0xff;
}

/* Each of its own keys in turn, and neighbours far from one another. */
static __always_inline __u64 bench_own_key(const struct bench_slot *slot, const __u64 *parameters)
{
	const __u64 own = parameters[BENCH_OWN];

	return bench_key(
		(slot->state[BENCH_CLIENT] * own + slot->state[BENCH_KEY] * 0x9e3779b1 % own) %
		parameters[BENCH_KEYS]);
}

/* That a key has which was committed as often as the slot went over all of its own. */
static __always_inline __u32 bench_version(const struct bench_slot *slot, const __u64 *parameters)
{
	const __u64 rounds =
		parameters[BENCH_ABORTS] ? 0 : slot->state[BENCH_KEY] / parameters[BENCH_OWN];

	return (slot->state[BENCH_SEQUENCE] >> BENCH_UPPER) + 1 + rounds;
}

/* Reads only what it looks at: the client's work is part of every round trip. The reflector's
 * answer is the request. */
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
 * The version that a conflict told is right for this key and, most of the time, for the slot's
 * others. A key that has it already was left locked by an earlier run, and one that is not there,
 * for want of room, is not what is asked about.
 */
static __always_inline void bench_learn(struct bench_slot *slot, const __u64 *parameters,
					const unsigned char *payload)
{
	const __u32 told = stepwise_read(payload + OCC_WIRE_VERSION, 4);
	const __u32 wrong = told - bench_version(slot, parameters);

	if (told && wrong)
		slot->state[BENCH_SEQUENCE] += (__u64)wrong << BENCH_UPPER;
	else
		slot->state[BENCH_KEY]++;
}

/* What follows a lock that was granted, or of which nobody knows. */
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

/* Writes and locks count up; reads carry any number that tells their answers apart. */
static __always_inline __u32 bench_sequence(struct bench_slot *slot, __u32 kind)
{
	const __u32 next = ((__u32)slot->state[BENCH_SEQUENCE] + 1) % OCC_SEQUENCE_MODULUS;

	if (kind == OCC_MESSAGE_KIND_GET)
		return slot->round_trips % OCC_SEQUENCE_MODULUS;
	slot->state[BENCH_SEQUENCE] = slot->state[BENCH_SEQUENCE] >> BENCH_UPPER << BENCH_UPPER |
				      next;
	return next;
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
		key = bench_own_key(slot, parameters);
	} else {
		kind = bench_choose(slot, parameters, &key) == BENCH_GET ? OCC_MESSAGE_KIND_GET :
									   OCC_MESSAGE_KIND_INSERT;
		slot->state[BENCH_KEY] = key;
	}
	sequence = bench_sequence(slot, kind);
	slot->state[BENCH_ASKED] = BENCH_HAS_ASKED | (__u64)kind << BENCH_UPPER | sequence;
	bench_write_request(slot, payload, kind, sequence, key,
			    kind == OCC_MESSAGE_KIND_LOCK ? bench_version(slot, parameters) : 0);
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
