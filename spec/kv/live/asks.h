/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* A client's requests for many keys, which are there: gets, or updates. See harness/live/ask.c. */
#ifndef KV_ASKS_H
#define KV_ASKS_H

#include "workload.h"

#define GATHERING_MAX KV_OPERATIONS_MAX
#define GATHERING_KEY(operation) ((operation)->key)
#include "session_gathering.h"

#define ASKS_FUNCTION(name) kv_##name
#define ASKS_CONSTANT(name) KV_##name

static const char *const asks_names[] = { "gets", "updates", NULL };

static inline unsigned int asks_turns(unsigned int workload)
{
	(void)workload;
	return 1;
}

static inline void asks_make(unsigned int workload, unsigned int turn, __u64 number,
			     struct kv_message *asked)
{
	(void)turn;
	asked->kind = workload == 0 ? KV_MESSAGE_KIND_GET : KV_MESSAGE_KIND_UPDATE;
	asked->key = 1 + number;
	asked->length = workload == 0 ? 0 : 8;
	memcpy(asked->value.bytes, &number, asked->length);
}

static inline enum kv_message_kind asks_kind_of_several(const struct kv_message *operations,
							unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		if (operations[i].kind != KV_MESSAGE_KIND_GET)
			return KV_MESSAGE_KIND_GATHER;
	return KV_MESSAGE_KIND_FETCH;
}

static inline bool asks_is_read(enum kv_message_kind kind)
{
	return kind == KV_MESSAGE_KIND_GET || kind == KV_MESSAGE_KIND_FETCH;
}

static inline bool asks_is_right(const struct kv_message *asked, const struct kv_message *done)
{
	return workload_is_outcome(asked, done) &&
	       (done->kind == KV_MESSAGE_KIND_VALUE || done->kind == KV_MESSAGE_KIND_UPDATED);
}

#endif
