/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* A client's requests for many locks: all are acquired, and then all are released. See
 * harness/live/ask.c. */
#ifndef LOCK_ASKS_H
#define LOCK_ASKS_H

#include "workload.h"

#define GATHERING_MAX LOCK_OPERATIONS_MAX
#define GATHERING_KEY(operation) ((operation)->lock)
#include "session_gathering.h"

#define ASKS_FUNCTION(name) lock_##name
#define ASKS_CONSTANT(name) LOCK_##name

static const char *const asks_names[] = { "acquire and release", NULL };

static inline unsigned int asks_turns(unsigned int workload)
{
	(void)workload;
	return 2;
}

static inline void asks_make(unsigned int workload, unsigned int turn, __u64 number,
			     struct lock_message *asked)
{
	(void)workload;
	asked->kind = turn == 0 ? LOCK_MESSAGE_KIND_ACQUIRE : LOCK_MESSAGE_KIND_RELEASE;
	asked->mode = turn == 0 ? LOCK_LOCK_MODE_SHARED : LOCK_LOCK_MODE_FREE;
	asked->lock = 1 + number;
}

static inline enum lock_message_kind asks_kind_of_several(const struct lock_message *operations,
							  unsigned int count)
{
	(void)operations, (void)count;
	return LOCK_MESSAGE_KIND_GATHER;
}

static inline bool asks_is_read(enum lock_message_kind kind)
{
	(void)kind;
	return false;
}

static inline bool asks_is_right(const struct lock_message *asked, const struct lock_message *done)
{
	return workload_is_outcome(asked, done) && done->kind != LOCK_MESSAGE_KIND_REJECTED;
}

#endif
