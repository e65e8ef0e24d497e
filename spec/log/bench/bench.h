/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Chooses what a slot of `just bench` asks a log for: it appends a record of a random key, over and
 * over. A request without an answer is sent again, since its session takes no other before it. See
 * harness/bench/slots.h.
 */
#ifndef LOG_BENCH_H
#define LOG_BENCH_H

#include "slots.h"
#include "log_codec.h"

#define BENCH_PAYLOAD_SIZE LOG_WIRE_SIZE

/*
 * The parameter of the workload, and the words of a slot's state; spec/log/bench/bench.py sets
 * them. ASKED: the level, and whether it has asked for anything.
 */
enum {
	BENCH_DISK_OF_1024
};
enum {
	BENCH_CLIENT,
	BENCH_SECRET,
	BENCH_SEQUENCE,
	BENCH_KEY,
	BENCH_ASKED
};

#define BENCH_HAS_ASKED 0x100

/* The outcomes, in the order of spec/log/bench/bench.py. */
enum {
	BENCH_APPENDED,
	BENCH_STORED,
	BENCH_FULL,
	BENCH_OTHER
};

static __always_inline __u32 bench_outcome(const struct bench_slot *slot,
					   const unsigned char *payload)
{
	const __u32 kind = stepwise_read(payload + LOG_WIRE_KIND, 1);

	if (!slot->state[BENCH_ASKED])
		return BENCH_OTHER;
	if (!kind)
		return BENCH_AGAIN;
	if (stepwise_read(payload + LOG_WIRE_SEQUENCE, 4) != (__u32)slot->state[BENCH_SEQUENCE])
		return BENCH_STALE;
	switch (kind) {
	case LOG_MESSAGE_KIND_APPENDED:
		return slot->state[BENCH_ASKED] == (BENCH_HAS_ASKED | LOG_MESSAGE_LEVEL_MEMORY) ?
			       BENCH_APPENDED :
			       BENCH_OTHER;
	case LOG_MESSAGE_KIND_STORED:
		return slot->state[BENCH_ASKED] == (BENCH_HAS_ASKED | LOG_MESSAGE_LEVEL_DISK) ?
			       BENCH_STORED :
			       BENCH_OTHER;
	case LOG_MESSAGE_KIND_FULL:
		return BENCH_FULL;
	default:
		return BENCH_OTHER;
	}
}

static __always_inline void bench_choose(struct bench_slot *slot, const __u64 *parameters)
{
	const bool disk = (bench_random(slot) >> 32) % 1024 < parameters[BENCH_DISK_OF_1024];

	slot->state[BENCH_SEQUENCE] = (slot->state[BENCH_SEQUENCE] + 1) % LOG_SEQUENCE_MODULUS;
	slot->state[BENCH_KEY] = bench_draw(slot);
	slot->state[BENCH_ASKED] = BENCH_HAS_ASKED |
				   (disk ? LOG_MESSAGE_LEVEL_DISK : LOG_MESSAGE_LEVEL_MEMORY);
}

/* Leaves the place as it was in the last answer: the server sets it and ignores the request's. */
static __always_inline __u32 bench_next_request(struct bench_slot *slot, const __u64 *parameters,
						unsigned char *payload)
{
	const __u32 outcome = bench_outcome(slot, payload);

	if (outcome == BENCH_STALE)
		return outcome;
	if (outcome != BENCH_AGAIN)
		bench_choose(slot, parameters);
	stepwise_write(payload + LOG_WIRE_KIND, 1, LOG_MESSAGE_KIND_APPEND);
	stepwise_write(payload + LOG_WIRE_LEVEL, 1, slot->state[BENCH_ASKED] & 0xff);
	stepwise_write(payload + LOG_WIRE_CLIENT, 2, slot->state[BENCH_CLIENT]);
	stepwise_write(payload + LOG_WIRE_SEQUENCE, 4, slot->state[BENCH_SEQUENCE]);
	stepwise_write_bytes(payload + LOG_WIRE_SECRET, 8, slot->state[BENCH_SECRET]);
	stepwise_write(payload + LOG_WIRE_TRANSACTION, 8,
		       slot->state[BENCH_CLIENT] << 32 | slot->state[BENCH_SEQUENCE]);
	stepwise_write(payload + LOG_WIRE_KEY, 8, slot->state[BENCH_KEY]);
	stepwise_write(payload + LOG_WIRE_VERSION, 4, slot->state[BENCH_SEQUENCE]);
	stepwise_write(payload + LOG_WIRE_DELETES, 1, 0);
	stepwise_write(payload + LOG_WIRE_LENGTH, 1, LOG_VALUE_SIZE);
	STEPWISE_UNROLL
	for (__u32 at = 0; at < LOG_VALUE_SIZE; at += 8)
		stepwise_write(payload + LOG_WIRE_VALUE + at, 8, slot->state[BENCH_KEY]);
	return outcome;
}

#endif
