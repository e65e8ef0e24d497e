/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Chooses what a slot of `just bench` asks a log for: it appends a record of a random key, over and
 * over. With BENCH_OPERATIONS, it appends as many with each message. A request without an answer is
 * sent again, since its session takes no other before it. See harness/bench/slots.h.
 */
#ifndef LOG_BENCH_H
#define LOG_BENCH_H

#include "slots.h"
#include "log_codec.h"

#ifdef BENCH_OPERATIONS
#define BENCH_PAYLOAD_SIZE (LOG_WIRE_SIZE + BENCH_OPERATIONS * LOG_OPERATION_SIZE)
#define BENCH_KIND LOG_MESSAGE_KIND_GATHER
#define BENCH_COUNT BENCH_OPERATIONS
#else
#define BENCH_PAYLOAD_SIZE LOG_WIRE_SIZE
#define BENCH_OPERATIONS 1
#define BENCH_KIND LOG_MESSAGE_KIND_APPEND
#define BENCH_COUNT 0
#endif

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
	case LOG_MESSAGE_KIND_GATHERED:
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

/* Writes a record. Its fields lie the same way in a message and in an operation. */
static __always_inline void bench_write_record(const struct bench_slot *slot, unsigned char *record,
					       __u32 number)
{
	const __u64 request = slot->state[BENCH_CLIENT] << 32 | slot->state[BENCH_SEQUENCE];
	const __u64 key = slot->state[BENCH_KEY] + number;

	stepwise_write(record + LOG_OPERATION_TRANSACTION, 8, request);
	stepwise_write(record + LOG_OPERATION_KEY, 8, key);
	stepwise_write(record + LOG_OPERATION_VERSION, 4, slot->state[BENCH_SEQUENCE]);
	stepwise_write(record + LOG_OPERATION_DELETES, 1, 0);
	stepwise_write(record + LOG_OPERATION_LENGTH, 1, LOG_VALUE_SIZE);
	STEPWISE_UNROLL
	for (__u32 at = 0; at < LOG_VALUE_SIZE; at += 8)
		stepwise_write(record + LOG_OPERATION_VALUE + at, 8, key);
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
	if (outcome == BENCH_APPENDED || outcome == BENCH_FULL)
		slot->outcomes[outcome] += BENCH_OPERATIONS - 1;
	stepwise_write(payload + LOG_WIRE_KIND, 1, BENCH_KIND);
	stepwise_write(payload + LOG_WIRE_LEVEL, 1, slot->state[BENCH_ASKED] & 0xff);
	stepwise_write(payload + LOG_WIRE_CLIENT, 2, slot->state[BENCH_CLIENT]);
	stepwise_write(payload + LOG_WIRE_SEQUENCE, 4, slot->state[BENCH_SEQUENCE]);
	stepwise_write_bytes(payload + LOG_WIRE_SECRET, 8, slot->state[BENCH_SECRET]);
	bench_write_record(slot, payload + LOG_WIRE_TRANSACTION, 0);
	stepwise_write(payload + LOG_WIRE_COUNT, 1, BENCH_COUNT);
	for (__u32 i = 0; i < BENCH_COUNT; i++)
		bench_write_record(slot, payload + LOG_WIRE_SIZE + i * LOG_OPERATION_SIZE, i);
	return outcome;
}

#endif
