/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The kinds of a store's messages: what each asks for or answers, and its name in a history. */
#ifndef KV_WORKLOAD_KINDS_H
#define KV_WORKLOAD_KINDS_H

#include "kv_codec.h"

static inline const char *workload_operation(enum kv_message_kind kind)
{
	switch (kind) {
	case KV_MESSAGE_KIND_GET:
		return "get";
	case KV_MESSAGE_KIND_INSERT:
		return "insert";
	case KV_MESSAGE_KIND_UPDATE:
		return "update";
	default:
		return "delete";
	}
}

static inline const char *workload_outcome(enum kv_message_kind kind)
{
	switch (kind) {
	case KV_MESSAGE_KIND_VALUE:
		return "Value";
	case KV_MESSAGE_KIND_MISSING:
		return "Missing";
	case KV_MESSAGE_KIND_INSERTED:
		return "Inserted";
	case KV_MESSAGE_KIND_EXISTS:
		return "Exists";
	case KV_MESSAGE_KIND_UPDATED:
		return "Updated";
	case KV_MESSAGE_KIND_DELETED:
		return "Deleted";
	case KV_MESSAGE_KIND_NO_ROOM:
		return "NoRoom";
	case KV_MESSAGE_KIND_TOO_LONG:
		return "TooLong";
	default:
		return "Absent";
	}
}

static inline bool workload_has_version(enum kv_message_kind kind)
{
	return kind == KV_MESSAGE_KIND_VALUE || kind == KV_MESSAGE_KIND_INSERTED ||
	       kind == KV_MESSAGE_KIND_EXISTS || kind == KV_MESSAGE_KIND_UPDATED ||
	       kind == KV_MESSAGE_KIND_DELETED;
}

static inline bool workload_is_write(const struct kv_message *request)
{
	return request->kind == KV_MESSAGE_KIND_INSERT || request->kind == KV_MESSAGE_KIND_UPDATE ||
	       request->kind == KV_MESSAGE_KIND_DELETE;
}

static inline bool workload_has_operations(const struct kv_message *request)
{
	return request->kind == KV_MESSAGE_KIND_FETCH || request->kind == KV_MESSAGE_KIND_GATHER;
}

/* Returns true if an answer, or an operation of one, belongs to what was asked for. */
static inline bool workload_is_outcome(const struct kv_message *asked,
				       const struct kv_message *done)
{
	const bool is_read = done->kind == KV_MESSAGE_KIND_VALUE ||
			     done->kind == KV_MESSAGE_KIND_MISSING;

	return done->key == asked->key && (asked->kind == KV_MESSAGE_KIND_GET ?
						   is_read :
						   done->kind >= KV_MESSAGE_KIND_INSERTED &&
							   done->kind <= KV_MESSAGE_KIND_TOO_LONG);
}

#endif
