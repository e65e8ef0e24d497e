/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Keys and values for the workload.h of a protocol over the store's cells, which defines before it
 * includes this
 *
 *   STORE_FUNCTION(name), STORE_CONSTANT(name)   a function and a constant of its generated codec
 *
 * and what session_workload.h asks for.
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

static __u64 *store_keys; /* all of them, the same for every client */

/* The keys of the first buckets only, until there are enough. */
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
	return STORE_CONSTANT(WIRE_SIZE) + STORE_FUNCTION(message_tail_size)(payload);
}

/* What was read has its tail; other answers may come without. */
static inline bool workload_is_whole(const unsigned char *payload, size_t size)
{
	return size == workload_size(payload) ||
	       (size == STORE_CONSTANT(WIRE_SIZE) &&
		stepwise_read(payload + STORE_CONSTANT(WIRE_KIND), 1) != SESSION_KIND(VALUE));
}

/* The message, and the tail that goes with what its slot holds: each byte of it tells where it is,
 * and of which value. */
static inline void store_encode(unsigned char *payload, const SESSION_MESSAGE *message)
{
	__u64 mixed = 0;

	STORE_FUNCTION(message_encode)(payload, message);
	for (unsigned int i = 0; i < STORE_FUNCTION(message_tail_size)(payload); i++) {
		mixed = (mixed ^ message->value.bytes[i % 8]) * 0x100000001b3ull + i;
		payload[STORE_CONSTANT(WIRE_SIZE) + i] = mixed >> 32;
	}
}

/* Stands for a value in the history: of its length and all its bytes, so that a torn one is
 * nobody's. FNV-1a. */
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

/* The next key that nobody has counted for yet; STORE_NO_KEY when all are. */
static inline __u64 store_claim(__u64 count, atomic_ullong *claimed)
{
	__u64 index = atomic_load(claimed);

	if (index < count)
		index = atomic_fetch_add(claimed, 1);
	return index < count ? store_keys[index] : STORE_NO_KEY;
}

#endif
