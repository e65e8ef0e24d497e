/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What the protocol's handler could not answer yet (STEPWISE_AGAIN), kept until it may know more. A
 * datagram in the daemon's socket may be served at any later time, any number of times; so may one
 * that waits here.
 */
#ifndef STEPWISE_AGAIN_H
#define STEPWISE_AGAIN_H

#include "net/endpoint.h"

#define AGAIN_MAX 4096 /* that wait; of more, the oldest is dropped: its client will ask again */

struct again;

/* NULL after a message. */
struct again *again_open(struct daemon_statistics *statistics);
void again_close(struct again *again);

/* Has all that wait served once more by the thread that serves, soon. Of any thread. */
void again_serve(struct again *again);

/* Readable once somebody has asked for that. */
int again_fd(const struct again *again);

/* Keeps one of an endpoint's batch, as it came. */
void again_keep(struct again *again, struct endpoint *endpoint, size_t index);

/* What waits now is to be taken, and not what is kept meanwhile. */
void again_begin(struct again *again);

/*
 * The oldest of these, as a batch of the endpoint that they came by, which stays until the next
 * one; its size in *count. NULL where all were taken.
 */
struct endpoint *again_take(struct again *again, size_t *count);

#endif
