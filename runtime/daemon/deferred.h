/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Datagrams that the protocol's handler could not answer yet (STEPWISE_AGAIN). They are kept until
 * it may know more. This is safe, because a datagram in the daemon's socket may also be served at
 * any later time, any number of times.
 */
#ifndef STEPWISE_DEFERRED_H
#define STEPWISE_DEFERRED_H

#include "net/endpoint.h"

/*
 * Maximum number of waiting datagrams. If there are more, the oldest is dropped, and its client
 * asks again.
 */
#define DEFERRED_MAX 4096

struct deferred;

/* Returns NULL after a message. */
struct deferred *deferred_open(struct daemon_statistics *statistics);
void deferred_close(struct deferred *deferred);

/* Makes the serving thread serve all waiting datagrams once more, soon. Any thread may call it. */
void deferred_serve(struct deferred *deferred);

/* Becomes readable after deferred_serve(). */
int deferred_fd(const struct deferred *deferred);

/* Keeps a datagram of an endpoint's batch, as it arrived. */
void deferred_keep(struct deferred *deferred, struct endpoint *endpoint, size_t index);

/*
 * Marks the datagrams that wait now for deferred_take(). Datagrams that are kept later are not
 * marked.
 */
void deferred_begin(struct deferred *deferred);

/*
 * Takes the oldest marked datagrams, and makes them a batch of the endpoint that they came by.
 * Returns this endpoint, and the size of the batch in *count. The batch is valid until the next
 * one. Returns NULL if all were taken.
 */
struct endpoint *deferred_take(struct deferred *deferred, size_t *count);

#endif
