/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Chooses what a slot of `just bench kv` asks a store for: see bench_workload.h and
 * harness/bench/slots.h. With BENCH_OPERATIONS, each message has so many gets and updates.
 */
#ifndef KV_BENCH_H
#define KV_BENCH_H

#include "kv_codec.h"

#define STORE_CONSTANT(name) KV_##name
#include "store_bench.h"

/* In ASKED, above the sequence number: set once the slot has asked for anything. */
#define BENCH_HAS_ASKED (1ULL << 32)

/* Returns the outcome of a request for one key, by the kind of its answer. */
static __always_inline __u32 bench_outcome_of(__u32 kind, bool value_is_right)
{
	switch (kind) {
	case KV_MESSAGE_KIND_VALUE:
		return value_is_right ? BENCH_VALUE : BENCH_OTHER;
	case KV_MESSAGE_KIND_MISSING:
		return BENCH_MISSING;
	case KV_MESSAGE_KIND_UPDATED:
		return BENCH_UPDATED;
	case KV_MESSAGE_KIND_ABSENT:
		return BENCH_ABSENT;
	case KV_MESSAGE_KIND_INSERTED:
		return BENCH_INSERTED;
	case KV_MESSAGE_KIND_EXISTS:
	case KV_MESSAGE_KIND_NO_ROOM:
	case KV_MESSAGE_KIND_TOO_LONG:
		return BENCH_REFUSED;
	default:
		return BENCH_OTHER;
	}
}

/* Writes count up. Reads may have any number that tells their answers apart. */
static __always_inline __u32 bench_sequence(struct bench_slot *slot, enum bench_operation operation)
{
	if (operation == BENCH_GET)
		return slot->round_trips % KV_SEQUENCE_MODULUS;
	slot->state[BENCH_SEQUENCE] = (slot->state[BENCH_SEQUENCE] + 1) % KV_SEQUENCE_MODULUS;
	return slot->state[BENCH_SEQUENCE];
}

static __always_inline __u32 bench_kind(enum bench_operation operation)
{
	switch (operation) {
	case BENCH_GET:
		return KV_MESSAGE_KIND_GET;
	case BENCH_UPDATE:
		return KV_MESSAGE_KIND_UPDATE;
	default:
		return KV_MESSAGE_KIND_INSERT;
	}
}

#ifdef BENCH_OPERATIONS
/* Chooses a get or an update. Returns what the answer says of the operation before. */
static __always_inline __u32 bench_next_operation(struct bench_slot *slot, const __u64 *parameters,
						  unsigned char *operation, bool answered)
{
	unsigned char *length = operation + KV_OPERATION_LENGTH;
	unsigned char *value = operation + KV_OPERATION_VALUE;
	const __u32 kind = stepwise_read(operation + KV_OPERATION_KIND, 1);
	const bool is_right =
		bench_is_value(length, value, stepwise_read(operation + KV_OPERATION_KEY, 8));
	enum bench_operation next;
	__u64 key;

	next = bench_choose(slot, parameters, &key);
	stepwise_write(operation + KV_OPERATION_KIND, 1, bench_kind(next));
	stepwise_write(operation + KV_OPERATION_KEY, 8, key);
	if (next == BENCH_GET)
		bench_put_value(length, value, 0, 0);
	else
		bench_put_value(length, value, BENCH_VALUE_SIZE, key);
	if (answered && (kind == KV_MESSAGE_KIND_GET || kind == KV_MESSAGE_KIND_UPDATE))
		return BENCH_REFUSED; /* left to be asked for alone */
	return answered ? bench_outcome_of(kind, is_right) : BENCH_OTHER;
}

/* Messages without updates are sent as the reads that they are. */
static __always_inline __u32 bench_next_request(struct bench_slot *slot, const __u64 *parameters,
						unsigned char *payload)
{
	const __u32 kind = stepwise_read(payload + KV_WIRE_KIND, 1);
	const bool answered = kind == KV_MESSAGE_KIND_FETCHED || kind == KV_MESSAGE_KIND_GATHERED;
	const bool reads = !parameters[BENCH_UPDATES_OF_1024];
	__u32 outcome = BENCH_OTHER;

	for (__u32 i = 0; i < BENCH_OPERATIONS; i++) {
		if (i && answered && outcome < BENCH_OUTCOMES)
			slot->outcomes[outcome]++;
		outcome = bench_next_operation(
			slot, parameters, payload + KV_WIRE_SIZE + i * KV_OPERATION_SIZE, answered);
	}
	bench_write_request(slot, payload, reads ? KV_MESSAGE_KIND_FETCH : KV_MESSAGE_KIND_GATHER,
			    bench_sequence(slot, reads ? BENCH_GET : BENCH_UPDATE), 0, 0);
	stepwise_write(payload + KV_WIRE_COUNT, 1, BENCH_OPERATIONS);
	return outcome;
}
#else
/* Reads only the fields that it checks: the client's work is part of every round trip. */
static __always_inline __u32 bench_outcome(const struct bench_slot *slot,
					   const unsigned char *payload)
{
	const __u32 kind = stepwise_read(payload + KV_WIRE_KIND, 1);

	if (!kind || !slot->state[BENCH_ASKED])
		return BENCH_OTHER;
	if (stepwise_read(payload + KV_WIRE_SEQUENCE, 4) != (__u32)slot->state[BENCH_ASKED])
		return BENCH_STALE;
	return bench_outcome_of(kind, kind == KV_MESSAGE_KIND_VALUE &&
					      bench_has_value(payload, slot->state[BENCH_KEY]));
}

static __always_inline __u32 bench_next_request(struct bench_slot *slot, const __u64 *parameters,
						unsigned char *payload)
{
	const __u32 outcome = bench_outcome(slot, payload);
	enum bench_operation operation;
	__u32 sequence;
	__u64 key;

	if (outcome == BENCH_STALE)
		return outcome;
	if (bench_is_loaded(slot, parameters))
		return outcome | BENCH_DONE;
	operation = bench_choose(slot, parameters, &key);
	sequence = bench_sequence(slot, operation);
	slot->state[BENCH_KEY] = key;
	slot->state[BENCH_ASKED] = BENCH_HAS_ASKED | sequence;
	bench_write_request(slot, payload, bench_kind(operation), sequence, key, 0);
	if (operation == BENCH_GET)
		bench_write_no_value(payload);
	else
		bench_write_value(payload, key);
	return outcome;
}
#endif

#endif
