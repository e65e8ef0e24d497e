/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Requests and values for the bench.h of a protocol over the store's cells. That file defines this
 * before it includes this one:
 *
 *   STORE_CONSTANT(name)   a constant of its generated codec
 */
#ifndef STORE_BENCH_H
#define STORE_BENCH_H

#define BENCH_VALUE_SIZE STORE_CONSTANT(TAIL_OVER) /* bytes: a whole slot */
#include "bench_workload.h"

#ifdef BENCH_OPERATIONS
#define BENCH_PAYLOAD_SIZE \
	(STORE_CONSTANT(WIRE_SIZE) + BENCH_OPERATIONS * STORE_CONSTANT(OPERATION_SIZE))
#else
#define BENCH_PAYLOAD_SIZE STORE_CONSTANT(WIRE_SIZE)
#endif

/*
 * The words of a slot's state. ASKED: the sequence number of the outstanding request; the protocol
 * uses the bits above it.
 */
enum {
	BENCH_CLIENT,
	BENCH_SECRET,
	BENCH_SEQUENCE,
	BENCH_KEY,
	BENCH_ASKED
};

/* Returns true if a packet has a whole value of the key. Length and value are where they point. */
static __always_inline bool bench_is_value(const unsigned char *length, const unsigned char *value,
					   __u64 key)
{
	return stepwise_read(length, 2) == BENCH_VALUE_SIZE && stepwise_read(value, 8) == key;
}

/* Writes a value of `size` bytes, 0 for none, whose slot is full of a word. */
static __always_inline void bench_put_value(unsigned char *length, unsigned char *value, __u32 size,
					    __u64 word)
{
	stepwise_write(length, 2, size);
	STEPWISE_UNROLL
	for (__u32 at = 0; at < BENCH_VALUE_SIZE; at += 8)
		stepwise_write(value + at, 8, word);
}

static __always_inline bool bench_has_value(const unsigned char *payload, __u64 key)
{
	return bench_is_value(payload + STORE_CONSTANT(WIRE_LENGTH),
			      payload + STORE_CONSTANT(WIRE_VALUE), key);
}

static __always_inline void bench_write_request(const struct bench_slot *slot,
						unsigned char *payload, __u32 kind, __u32 sequence,
						__u64 key, __u32 version)
{
	stepwise_write(payload + STORE_CONSTANT(WIRE_KIND), 1, kind);
	stepwise_write(payload + STORE_CONSTANT(WIRE_CLIENT), 2, slot->state[BENCH_CLIENT]);
	stepwise_write(payload + STORE_CONSTANT(WIRE_SEQUENCE), 4, sequence);
	stepwise_write_bytes(payload + STORE_CONSTANT(WIRE_SECRET), 8, slot->state[BENCH_SECRET]);
	stepwise_write(payload + STORE_CONSTANT(WIRE_KEY), 8, key);
	stepwise_write(payload + STORE_CONSTANT(WIRE_VERSION), 4, version);
}

static __always_inline void bench_write_value(unsigned char *payload, __u64 key)
{
	bench_put_value(payload + STORE_CONSTANT(WIRE_LENGTH), payload + STORE_CONSTANT(WIRE_VALUE),
			BENCH_VALUE_SIZE, key);
}

static __always_inline void bench_write_no_value(unsigned char *payload)
{
	bench_put_value(payload + STORE_CONSTANT(WIRE_LENGTH), payload + STORE_CONSTANT(WIRE_VALUE),
			0, 0);
}

#endif
