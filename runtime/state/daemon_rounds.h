/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Rounds of a daemon's events, counted in its claim. Who has taken something away that a round
 * looks at first, an interface from the list of those that are served, waits for the round under
 * way: what that is yet to send is sent then.
 */
#ifndef STEPWISE_DAEMON_ROUNDS_H
#define STEPWISE_DAEMON_ROUNDS_H

#include "stepwise.h"

struct daemon_rounds;

/* The daemon's, by its claim; NULL after a message. */
struct daemon_rounds *daemon_rounds_open(int claim_fd);
void daemon_rounds_close(struct daemon_rounds *rounds);

/* Around a round. What another process has done before daemon_rounds_begin() is seen in it, or that
 * process waits for its end. */
void daemon_rounds_begin(struct daemon_rounds *rounds);
void daemon_rounds_end(struct daemon_rounds *rounds);

/* Waits for the round under way, if there is one, or for the daemon's end. -ETIMEDOUT, after a
 * message, where it takes too long. */
int daemon_rounds_await(const struct stepwise_protocol *protocol);

#endif
