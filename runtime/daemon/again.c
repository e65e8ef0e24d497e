/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/eventfd.h>

#include "base/log.h"
#include "daemon/again.h"

struct waiting {
	struct endpoint *endpoint;
	struct endpoint_kept kept;
};

struct again {
	struct daemon_statistics *statistics;
	int fd;
	struct waiting *ring; /* AGAIN_MAX elements; allocated when the first datagram is kept */
	size_t first;
	size_t count;
	size_t due; /* the oldest of these, which again_take() still has to return */
	/* Copies, because the next datagram that is kept may reuse a place in the ring. */
	struct endpoint_kept batch[ENDPOINT_BATCH_MAX];
};

struct again *again_open(struct daemon_statistics *statistics)
{
	struct again *again = calloc(1, sizeof(*again));

	if (again) {
		again->statistics = statistics;
		again->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (again->fd >= 0)
			return again;
		free(again);
	}
	log_error("cannot keep datagrams for later: %s", strerror(errno));
	return NULL;
}

void again_close(struct again *again)
{
	if (!again)
		return;
	close(again->fd);
	free(again->ring);
	free(again);
}

void again_serve(struct again *again)
{
	const __u64 once = 1;

	/*
	 * The write fails after 2^64 - 2 calls without a read. The descriptor is readable then,
	 * too.
	 */
	if (write(again->fd, &once, sizeof(once)) < 0)
		log_debug("serve again: %s", strerror(errno));
}

int again_fd(const struct again *again)
{
	return again->fd;
}

static struct waiting *at(struct again *again, size_t position)
{
	return &again->ring[(again->first + position) % AGAIN_MAX];
}

static void drop_first(struct again *again)
{
	again->first = (again->first + 1) % AGAIN_MAX;
	again->count--;
	again->due -= again->due > 0;
}

void again_keep(struct again *again, struct endpoint *endpoint, size_t index)
{
	struct waiting *waiting;

	if (!again->ring)
		again->ring = calloc(AGAIN_MAX, sizeof(*again->ring));
	if (!again->ring) {
		again->statistics->kept_dropped++;
		return;
	}
	if (again->count == AGAIN_MAX) {
		again->statistics->kept_dropped++;
		drop_first(again);
	}
	waiting = at(again, again->count++);
	waiting->endpoint = endpoint;
	endpoint->operations->keep(endpoint, index, &waiting->kept);
	again->statistics->kept++;
}

void again_begin(struct again *again)
{
	__u64 times;

	if (read(again->fd, &times, sizeof(times)) < 0 && errno != EAGAIN)
		log_debug("serve again: %s", strerror(errno));
	again->due = again->count;
}

struct endpoint *again_take(struct again *again, size_t *count)
{
	struct endpoint *endpoint = NULL;

	*count = 0;
	while (again->due && *count < ENDPOINT_BATCH_MAX &&
	       (!endpoint || at(again, 0)->endpoint == endpoint)) {
		struct waiting *waiting = at(again, 0);
		struct endpoint_kept *kept = &again->batch[*count];

		endpoint = waiting->endpoint;
		*kept = waiting->kept;
		drop_first(again);
		endpoint->operations->restore(endpoint, (*count)++, kept);
	}
	return endpoint;
}
