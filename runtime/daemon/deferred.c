/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/eventfd.h>

#include "base/log.h"
#include "daemon/deferred.h"

struct waiting {
	struct endpoint *endpoint;
	struct endpoint_kept kept;
};

struct deferred {
	struct daemon_statistics *statistics;
	int fd;
	struct waiting *ring; /* DEFERRED_MAX elements; allocated when the first datagram is kept */
	size_t first;
	size_t count;
	size_t due; /* the oldest of these, which deferred_take() still has to return */
	/* Copies, because the next datagram that is kept may reuse a place in the ring. */
	struct endpoint_kept batch[ENDPOINT_BATCH_MAX];
};

struct deferred *deferred_open(struct daemon_statistics *statistics)
{
	struct deferred *deferred = calloc(1, sizeof(*deferred));

	if (deferred) {
		deferred->statistics = statistics;
		deferred->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (deferred->fd >= 0)
			return deferred;
		free(deferred);
	}
	log_error("cannot keep datagrams for later: %s", strerror(errno));
	return NULL;
}

void deferred_close(struct deferred *deferred)
{
	if (!deferred)
		return;
	close(deferred->fd);
	free(deferred->ring);
	free(deferred);
}

void deferred_serve(struct deferred *deferred)
{
	const __u64 once = 1;

	/*
	 * The write fails after 2^64 - 2 calls without a read. The descriptor is readable then,
	 * too.
	 */
	if (write(deferred->fd, &once, sizeof(once)) < 0)
		log_debug("serve again: %s", strerror(errno));
}

int deferred_fd(const struct deferred *deferred)
{
	return deferred->fd;
}

static struct waiting *at(struct deferred *deferred, size_t position)
{
	return &deferred->ring[(deferred->first + position) % DEFERRED_MAX];
}

static void drop_first(struct deferred *deferred)
{
	deferred->first = (deferred->first + 1) % DEFERRED_MAX;
	deferred->count--;
	deferred->due -= deferred->due > 0;
}

void deferred_keep(struct deferred *deferred, struct endpoint *endpoint, size_t index)
{
	struct waiting *waiting;

	if (!deferred->ring)
		deferred->ring = calloc(DEFERRED_MAX, sizeof(*deferred->ring));
	if (!deferred->ring) {
		deferred->statistics->kept_dropped++;
		return;
	}
	if (deferred->count == DEFERRED_MAX) {
		deferred->statistics->kept_dropped++;
		drop_first(deferred);
	}
	waiting = at(deferred, deferred->count++);
	waiting->endpoint = endpoint;
	endpoint->operations->keep(endpoint, index, &waiting->kept);
	deferred->statistics->kept++;
}

void deferred_begin(struct deferred *deferred)
{
	__u64 times;

	if (read(deferred->fd, &times, sizeof(times)) < 0 && errno != EAGAIN)
		log_debug("serve again: %s", strerror(errno));
	deferred->due = deferred->count;
}

struct endpoint *deferred_take(struct deferred *deferred, size_t *count)
{
	struct endpoint *endpoint = NULL;

	*count = 0;
	while (deferred->due && *count < ENDPOINT_BATCH_MAX &&
	       (!endpoint || at(deferred, 0)->endpoint == endpoint)) {
		struct waiting *waiting = at(deferred, 0);
		struct endpoint_kept *kept = &deferred->batch[*count];

		endpoint = waiting->endpoint;
		*kept = waiting->kept;
		drop_first(deferred);
		endpoint->operations->restore(endpoint, (*count)++, kept);
	}
	return endpoint;
}
