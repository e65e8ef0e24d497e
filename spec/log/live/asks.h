/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* A client's appends of many records to memory. See harness/live/ask.c. */
#ifndef LOG_ASKS_H
#define LOG_ASKS_H

#include "workload.h"

#define GATHERING_MAX LOG_OPERATIONS_MAX
#define GATHERING_KEY(operation) ((operation)->key)
#include "session_gathering.h"

#define ASKS_FUNCTION(name) log_##name
#define ASKS_CONSTANT(name) LOG_##name

static const char *const asks_names[] = { "appends", NULL };

static inline unsigned int asks_turns(unsigned int workload)
{
	(void)workload;
	return 1;
}

static inline void asks_make(unsigned int workload, unsigned int turn, __u64 number,
			     struct log_message *asked)
{
	(void)workload, (void)turn;
	asked->kind = LOG_MESSAGE_KIND_APPEND;
	asked->level = LOG_MESSAGE_LEVEL_MEMORY;
	asked->key = 1 + number;
	asked->version = 1;
	asked->length = sizeof(number);
	memcpy(asked->value.bytes, &number, sizeof(number));
}

static inline enum log_message_kind asks_kind_of_several(const struct log_message *operations,
							 unsigned int count)
{
	(void)operations, (void)count;
	return LOG_MESSAGE_KIND_GATHER;
}

static inline bool asks_is_read(enum log_message_kind kind)
{
	return kind == LOG_MESSAGE_KIND_SYNC;
}

static inline bool asks_is_right(const struct log_message *asked, const struct log_message *done)
{
	return workload_identity(asked) == workload_identity(done) &&
	       (done->kind == LOG_MESSAGE_KIND_APPENDED || done->kind == LOG_MESSAGE_KIND_GATHERED);
}

#endif
