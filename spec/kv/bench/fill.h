/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Chooses what a slot of `just fill kv` asks for, and checks the answers: see fill.py and
 * harness/bench/slots.h.
 */
#ifndef KV_FILL_H
#define KV_FILL_H

#include "kv_codec.h"
#include "slots.h"

#define BENCH_PAYLOAD_SIZE KV_WIRE_SIZE

/* All requests of a run have one operation. The order is that of fill.py. */
enum fill_operation {
	FILL_INSERT,
	FILL_UPDATE,
	FILL_GET
};

/*
 * The parameters.
 * OPERATION: of all requests. COUNT: the number of requests.
 * STEP: only every STEPth number is asked for.
 * STRIDE: prime to COUNT; gives the order of the requests.
 * CHANGED: every CHANGEDth number has been updated once; zero: none has.
 */
enum {
	FILL_OPERATION,
	FILL_COUNT,
	FILL_STEP,
	FILL_STRIDE,
	FILL_CHANGED
};

/*
 * The words of a slot's state.
 * SEQUENCES: the last write's number in the lower half, the count of reads in the upper half.
 * WRONG: the first key with a wrong answer.
 */
enum {
	FILL_CLIENT,
	FILL_SECRET,
	FILL_SEQUENCES,
	FILL_NUMBER,
	FILL_WRONG
};

/* The outcomes, in the order of fill.py. */
enum {
	FILL_IS_RIGHT,
	FILL_IS_WRONG,
	FILL_IS_MISSING,
	FILL_IS_UNCHANGED,
	FILL_HAS_NO_ROOM,
	FILL_BEGINS
};

#define FILL_OF_READS                                                                          \
	(1U << 29) /* in the sequence numbers of reads, so that a late answer to a write never \
		      passes for one to a read */
#define FILL_WORDS (KV_SLOT_SIZE / 8)

/* Spreads the numbers over all 64 bits. No key is zero. */
static __always_inline __u64 fill_key(__u64 number)
{
	return (number + 1) * 0x9e3779b97f4a7c15ULL;
}

static __always_inline __u32 fill_version(__u64 number, const __u64 *parameters)
{
	return parameters[FILL_CHANGED] && number % parameters[FILL_CHANGED] == 0 ? 2 : 1;
}

/* Returns the length of a value, in words: anything from zero to a whole slot. */
static __always_inline __u32 fill_length(__u64 number, __u32 version)
{
	return (number + version) % (FILL_WORDS + 1);
}

static __always_inline __u64 fill_word(__u64 key, __u32 version, __u32 at)
{
	return key * (2 * at + 1) ^ version;
}

static __always_inline bool fill_is_value(const unsigned char *payload, __u64 number, __u32 version)
{
	const __u32 length = fill_length(number, version);
	__u64 differs = stepwise_read(payload + KV_WIRE_LENGTH, 2) ^ 8 * length;

	differs |= stepwise_read(payload + KV_WIRE_VERSION, 4) ^ version;
	differs |= stepwise_read(payload + KV_WIRE_KEY, 8) ^ fill_key(number);
	STEPWISE_UNROLL
	for (__u32 at = 0; at < FILL_WORDS; at++)
		if (at < length)
			differs |= stepwise_read(payload + KV_WIRE_VALUE + 8 * at, 8) ^
				   fill_word(fill_key(number), version, at);
	return !differs;
}

static __always_inline __u32 fill_outcome(const unsigned char *payload, __u64 number,
					  const __u64 *parameters)
{
	const __u32 version = fill_version(number, parameters);
	bool right = stepwise_read(payload + KV_WIRE_VERSION, 4) == version;

	switch (stepwise_read(payload + KV_WIRE_KIND, 1)) {
	case KV_MESSAGE_KIND_INSERTED:
		right = right && parameters[FILL_OPERATION] == FILL_INSERT;
		break;
	case KV_MESSAGE_KIND_UPDATED:
		right = right && parameters[FILL_OPERATION] == FILL_UPDATE;
		break;
	case KV_MESSAGE_KIND_VALUE:
		right = parameters[FILL_OPERATION] == FILL_GET &&
			fill_is_value(payload, number, version);
		if (!right && version == 2 && fill_is_value(payload, number, 1))
			return FILL_IS_UNCHANGED;
		break;
	case KV_MESSAGE_KIND_MISSING:
	case KV_MESSAGE_KIND_ABSENT:
		return FILL_IS_MISSING;
	case KV_MESSAGE_KIND_NO_ROOM:
		return FILL_HAS_NO_ROOM;
	default:
		right = false;
	}
	return right ? FILL_IS_RIGHT : FILL_IS_WRONG;
}

/* Returns the sequence number of the outstanding request. */
static __always_inline __u32 fill_sequence(const struct bench_slot *slot, const __u64 *parameters)
{
	const __u64 counted = slot->state[FILL_SEQUENCES];

	if (parameters[FILL_OPERATION] == FILL_GET)
		return FILL_OF_READS | (counted >> 32) % FILL_OF_READS;
	return counted % FILL_OF_READS;
}

static __always_inline __u32 fill_kind(const __u64 *parameters)
{
	switch (parameters[FILL_OPERATION]) {
	case FILL_INSERT:
		return KV_MESSAGE_KIND_INSERT;
	case FILL_UPDATE:
		return KV_MESSAGE_KIND_UPDATE;
	default:
		return KV_MESSAGE_KIND_GET;
	}
}

static __always_inline void fill_ask(const struct bench_slot *slot, const __u64 *parameters,
				     unsigned char *payload)
{
	const __u64 number = slot->state[FILL_NUMBER], key = fill_key(number);
	const __u32 version = fill_version(number, parameters);
	const __u32 length = parameters[FILL_OPERATION] == FILL_GET ? 0 :
								      fill_length(number, version);

	stepwise_write(payload + KV_WIRE_KIND, 1, fill_kind(parameters));
	stepwise_write(payload + KV_WIRE_CLIENT, 2, slot->state[FILL_CLIENT]);
	stepwise_write(payload + KV_WIRE_SEQUENCE, 4, fill_sequence(slot, parameters));
	stepwise_write_bytes(payload + KV_WIRE_SECRET, 8, slot->state[FILL_SECRET]);
	stepwise_write(payload + KV_WIRE_KEY, 8, key);
	stepwise_write(payload + KV_WIRE_VERSION, 4, 0);
	stepwise_write(payload + KV_WIRE_LENGTH, 2, 8 * length);
	STEPWISE_UNROLL
	for (__u32 at = 0; at < FILL_WORDS; at++)
		stepwise_write(payload + KV_WIRE_VALUE + 8 * at, 8,
			       at < length ? fill_word(key, version, at) : 0);
}

/* A slot without an answer sends the same request again: the store executes a write only once. */
static __always_inline __u32 bench_next_request(struct bench_slot *slot, const __u64 *parameters,
						unsigned char *payload)
{
	const bool answered = stepwise_read(payload + KV_WIRE_KIND, 1), begins = !slot->round_trips;
	__u32 outcome = FILL_BEGINS;

	if (slot->drained || (answered && begins) ||
	    (answered &&
	     stepwise_read(payload + KV_WIRE_SEQUENCE, 4) != fill_sequence(slot, parameters)))
		return BENCH_STALE;
	if (!answered && !begins) {
		fill_ask(slot, parameters, payload);
		return BENCH_AGAIN;
	}
	if (answered)
		outcome = fill_outcome(payload, slot->state[FILL_NUMBER], parameters);
	if (outcome != FILL_IS_RIGHT && outcome != FILL_BEGINS && !slot->state[FILL_WRONG])
		slot->state[FILL_WRONG] = fill_key(slot->state[FILL_NUMBER]);
	if (bench_share(slot) >= parameters[FILL_COUNT])
		return outcome | BENCH_DONE;
	slot->state[FILL_NUMBER] = bench_share(slot) * parameters[FILL_STRIDE] %
				   parameters[FILL_COUNT] * parameters[FILL_STEP];
	slot->state[FILL_SEQUENCES] += parameters[FILL_OPERATION] == FILL_GET ? 1ULL << 32 : 1;
	fill_ask(slot, parameters, payload);
	return outcome;
}

#endif
