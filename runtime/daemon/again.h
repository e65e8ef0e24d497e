/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Datagrams that the protocol's handler could not answer yet (STEPWISE_AGAIN). They are kept until
 * it may know more. This is safe, because a datagram in the daemon's socket may also be served at
 * any later time, any number of times.
 */
#ifndef STEPWISE_AGAIN_H
#define STEPWISE_AGAIN_H

#include "net/endpoint.h"

/*
 * Maximum number of waiting datagrams. If there are more, the oldest is dropped, and its client
 * asks again.
 */
#define AGAIN_MAX 4096

struct again;

/* Returns NULL after a message. */
struct again *again_open(struct daemon_statistics *statistics);
void again_close(struct again *again);

/* Makes the serving thread serve all waiting datagrams once more, soon. Any thread may call it. */
void again_serve(struct again *again);

/* Becomes readable after again_serve(). */
int again_fd(const struct again *again);

/* Keeps a datagram of an endpoint's batch, as it arrived. */
void again_keep(struct again *again, struct endpoint *endpoint, size_t index);

/*
 * Marks the datagrams that wait now for again_take(). Datagrams that are kept later are not marked.
 */
void again_begin(struct again *again);

/*
 * Takes the oldest marked datagrams, and makes them a batch of the endpoint that they came by.
 * Returns this endpoint, and the size of the batch in *count. The batch is valid until the next
 * one. Returns NULL if all were taken.
 */
struct endpoint *again_take(struct again *again, size_t *count);

#endif
