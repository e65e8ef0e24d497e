/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Gathers operations that a client asks for at once, where messages may have several. While a
 * message is on its way, further operations wait. The next message takes as many of them as it has
 * room for. Nothing else makes an operation wait. No timer runs, and one that is asked for alone
 * goes out at once.
 *
 * A protocol's header defines these, and what session_workload.h asks for, before it includes this
 * file:
 *
 *   GATHERING_MAX              the most operations of a message
 *   GATHERING_KEY(operation)   the key that an operation falls on
 */
#ifndef SESSION_GATHERING_H
#define SESSION_GATHERING_H

#include <stdlib.h>

#include "session_workload.h"

/* The operations that wait, in the order in which they were asked for: asked[first .. end - 1]. */
struct gathering {
	SESSION_MESSAGE *asked;
	size_t first, end, capacity;
};

/* Adds an operation to those that wait. Returns false if memory for it cannot be had. */
static inline bool gathering_ask(struct gathering *gathering, const SESSION_MESSAGE *operation)
{
	if (gathering->end == gathering->capacity) {
		size_t capacity = gathering->capacity ? 2 * gathering->capacity : 64;
		SESSION_MESSAGE *grown =
			realloc(gathering->asked, capacity * sizeof(*gathering->asked));

		if (!grown)
			return false;
		gathering->asked = grown;
		gathering->capacity = capacity;
	}
	gathering->asked[gathering->end++] = *operation;
	return true;
}

static inline bool gathering_has_key(const SESSION_MESSAGE *operations, unsigned int count,
				     const SESSION_MESSAGE *operation)
{
	for (unsigned int i = 0; i < count; i++)
		if (GATHERING_KEY(&operations[i]) == GATHERING_KEY(operation))
			return true;
	return false;
}

/* Removes those that were taken, of all before `seen`. The others of these stay first. */
static inline void gathering_close_up(struct gathering *gathering, const size_t *taken,
				      unsigned int count, size_t seen)
{
	size_t kept = seen;

	for (size_t at = seen; at-- > gathering->first;) {
		if (count && taken[count - 1] == at)
			count--;
		else
			gathering->asked[--kept] = gathering->asked[at];
	}
	gathering->first = kept;
	if (gathering->first == gathering->end)
		gathering->first = gathering->end = 0;
}

/*
 * Takes the operations of the next message: the first ones that wait, and of each key the first
 * only. So operations on one key keep their order. Returns how many there are. One alone needs no
 * message with operations.
 */
static inline unsigned int gathering_take(struct gathering *gathering, SESSION_MESSAGE *operations)
{
	size_t taken[GATHERING_MAX], seen = gathering->first;
	unsigned int count = 0;

	for (; seen < gathering->end && count < GATHERING_MAX; seen++) {
		if (gathering_has_key(operations, count, &gathering->asked[seen]))
			continue;
		taken[count] = seen;
		operations[count++] = gathering->asked[seen];
	}
	gathering_close_up(gathering, taken, count, seen);
	return count;
}

#endif
