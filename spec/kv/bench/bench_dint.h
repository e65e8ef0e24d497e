/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Chooses what a slot of `just bench kv` asks DINT's store for: the same as bench.h asks the
 * generated one for. Numbers are little endian.
 */
#ifndef KV_BENCH_DINT_H
#define KV_BENCH_DINT_H

#include "bpf/stepwise_c.h"
#include "bench_workload.h"

#define BENCH_PAYLOAD_SIZE 53
#define DINT_VALUE_WORDS 5

enum dint_type {
	DINT_READ,
	DINT_SET,
	DINT_INSERT,
	DINT_READ_DONE,
	DINT_READ_REJECTED, /* another request has the bucket, or had it and never gave it back */
	DINT_SET_DONE,
	DINT_SET_REJECTED,
	DINT_NOT_THERE,
	DINT_INSERT_DONE,
	DINT_INSERT_REJECTED
};

struct dint_message {
	__u8 type;
	__u64 key;
	__u64 value[DINT_VALUE_WORDS];
	__u32 version;
} __attribute__((packed));

_Static_assert(sizeof(struct dint_message) == BENCH_PAYLOAD_SIZE, "nothing but the fields");
_Static_assert(sizeof(__u64) * DINT_VALUE_WORDS == BENCH_VALUE_SIZE, "values of the same size");

/* A blank answer looks like a read of key 0, and nobody has that key. */
static __always_inline __u32 bench_outcome(const struct dint_message *message)
{
	switch (message->type) {
	case DINT_READ_DONE:
		return message->value[0] == message->key ? BENCH_VALUE : BENCH_OTHER;
	case DINT_SET_DONE:
		return BENCH_UPDATED;
	case DINT_INSERT_DONE:
		return BENCH_INSERTED;
	case DINT_NOT_THERE:
		return message->value[0] ? BENCH_ABSENT : BENCH_MISSING;
	case DINT_READ_REJECTED:
	case DINT_SET_REJECTED:
	case DINT_INSERT_REJECTED:
		return BENCH_REFUSED;
	default:
		return BENCH_OTHER;
	}
}

static __always_inline enum dint_type dint_type_of(enum bench_operation operation)
{
	switch (operation) {
	case BENCH_GET:
		return DINT_READ;
	case BENCH_UPDATE:
		return DINT_SET;
	default:
		return DINT_INSERT;
	}
}

static __always_inline __u32 bench_next_request(struct bench_slot *slot, const __u64 *parameters,
						unsigned char *payload)
{
	struct dint_message *message = (void *)payload;
	const __u32 outcome = bench_outcome(message);
	__u64 key, word;

	if (bench_is_loaded(slot, parameters))
		return outcome | BENCH_DONE;
	message->type = dint_type_of(bench_choose(slot, parameters, &key));
	message->key = key;
	word = message->type == DINT_READ ? 0 : key;
	STEPWISE_UNROLL
	for (__u32 i = 0; i < DINT_VALUE_WORDS; i++)
		message->value[i] = word;
	message->version = 0;
	return outcome;
}

#endif
