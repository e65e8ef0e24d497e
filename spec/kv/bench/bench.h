/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Chooses what a slot of `just bench kv` asks a store for: see bench_workload.h and
 * harness/bench/slots.h.
 */
#ifndef KV_BENCH_H
#define KV_BENCH_H

#include "kv_codec.h"

#define STORE_CONSTANT(name) KV_##name
#include "store_bench.h"

/* In ASKED, above the sequence number: set once the slot has asked for anything. */
#define BENCH_HAS_ASKED (1ULL << 32)

/* Reads only the fields that it checks: the client's work is part of every round trip. */
static __always_inline __u32 bench_outcome(const struct bench_slot *slot,
					   const unsigned char *payload)
{
	const __u32 kind = stepwise_read(payload + KV_WIRE_KIND, 1);

	if (!kind || !slot->state[BENCH_ASKED])
		return BENCH_OTHER;
	if (stepwise_read(payload + KV_WIRE_SEQUENCE, 4) != (__u32)slot->state[BENCH_ASKED])
		return BENCH_STALE;
	switch (kind) {
	case KV_MESSAGE_KIND_VALUE:
		return bench_has_value(payload, slot->state[BENCH_KEY]) ? BENCH_VALUE : BENCH_OTHER;
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
