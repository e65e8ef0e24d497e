/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Keys and values for the workload.h of a protocol over the store's cells. That file defines these
 * before it includes this one, and also what session_workload.h asks for:
 *
 *   STORE_FUNCTION(name)   a function of its generated codec
 *   STORE_CONSTANT(name)   a constant of its generated codec
 *   STORE_OPERATIONS_SIZE(payload)   bytes of a message's operations, if it may have any
 */
#ifndef STORE_WORKLOAD_H
#define STORE_WORKLOAD_H

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "session_workload.h"

#define WORKLOAD_PORT STORE_CONSTANT(PORT)
#define WORKLOAD_SIZE STORE_CONSTANT(WIRE_SIZE)
#define WORKLOAD_SIZE_MAX (STORE_CONSTANT(WIRE_SIZE) + STORE_CONSTANT(TAIL_MAX))
#define STORE_NO_KEY (~0ull)

#ifndef STORE_OPERATIONS_SIZE
#define STORE_OPERATIONS_SIZE(payload) 0u
#endif

static __u64 *store_keys; /* all keys, the same for every client */

/*
 * Chooses the keys. With a `crowd`, all fall into the first buckets, so that each of these has
 * `crowd` keys on average.
 */
static inline void store_choose_keys(__u64 count, __u64 crowd)
{
	__u64 buckets = crowd ? (count + crowd - 1) / crowd : STORE_CONSTANT(CAPACITY_BUCKET);

	store_keys = calloc(count, sizeof(*store_keys));
	if (!store_keys) {
		fprintf(stderr, "load: no memory for %llu keys\n", count);
		exit(1);
	}
	for (__u64 key = 1, found = 0; found < count; key++)
		if (STORE_FUNCTION(hash_slot)(key) < buckets)
			store_keys[found++] = key;
}

static inline size_t workload_size(const unsigned char *payload)
{
	return STORE_CONSTANT(WIRE_SIZE) + STORE_FUNCTION(message_tail_size)(payload) +
	       STORE_OPERATIONS_SIZE(payload);
}

/* A value that was read must come with its tail. Other answers may come without one. */
static inline bool workload_is_whole(const unsigned char *payload, size_t size)
{
	return (size == workload_size(payload) && size <= WORKLOAD_SIZE_MAX) ||
	       (size == STORE_CONSTANT(WIRE_SIZE) &&
		stepwise_read(payload + STORE_CONSTANT(WIRE_KIND), 1) != SESSION_KIND(VALUE));
}

/*
 * Encodes a message and its tail. The tail depends on the slot's bytes, so that each byte of it
 * shows its position and its value.
 */
static inline void store_encode(unsigned char *payload, const SESSION_MESSAGE *message)
{
	__u64 mixed = 0;

	STORE_FUNCTION(message_encode)(payload, message);
	for (unsigned int i = 0; i < STORE_FUNCTION(message_tail_size)(payload); i++) {
		mixed = (mixed ^ message->value.bytes[i % 8]) * 0x100000001b3ull + i;
		payload[STORE_CONSTANT(WIRE_SIZE) + i] = mixed >> 32;
	}
}

/*
 * Returns a digest (FNV-1a) that stands for a value in the history. It covers the length and all
 * bytes, so a torn value has a digest that nobody wrote.
 */
static inline __u64 store_digest(const unsigned char *payload)
{
	__u64 digest = 0xcbf29ce484222325ull ^
		       stepwise_read(payload + STORE_CONSTANT(WIRE_LENGTH), 2);

	for (unsigned int i = 0; i < STORE_CONSTANT(SLOT_SIZE); i++)
		digest = (digest ^ payload[STORE_CONSTANT(WIRE_VALUE) + i]) * 0x100000001b3ull;
	for (unsigned int i = 0; i < STORE_FUNCTION(message_tail_size)(payload); i++)
		digest = (digest ^ payload[STORE_CONSTANT(WIRE_SIZE) + i]) * 0x100000001b3ull;
	return digest;
}

static inline __u64 store_digest_of(const SESSION_MESSAGE *request)
{
	unsigned char payload[WORKLOAD_SIZE_MAX];

	store_encode(payload, request);
	return store_digest(payload);
}

/* Claims the next key that no client has claimed. Returns STORE_NO_KEY if all are claimed. */
static inline __u64 store_claim(__u64 count, atomic_ullong *claimed)
{
	__u64 index = atomic_load(claimed);

	if (index < count)
		index = atomic_fetch_add(claimed, 1);
	return index < count ? store_keys[index] : STORE_NO_KEY;
}

#endif
