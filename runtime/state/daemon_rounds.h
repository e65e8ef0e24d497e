/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Rounds of a daemon's events, counted in its claim. A command that removes something that rounds
 * check first, such as an interface from the list of those that are served, then waits for the
 * current round. That round still sends its pending replies.
 */
#ifndef STEPWISE_DAEMON_ROUNDS_H
#define STEPWISE_DAEMON_ROUNDS_H

#include "stepwise.h"

struct daemon_rounds;

/* Opens the daemon's own counters in its claim. Returns NULL after a message. */
struct daemon_rounds *daemon_rounds_open(int claim_fd);
void daemon_rounds_close(struct daemon_rounds *rounds);

/*
 * Mark the start and the end of a round. If another process changed something before
 * daemon_rounds_begin(), the round sees it. Otherwise that process waits for the round's end.
 */
void daemon_rounds_begin(struct daemon_rounds *rounds);
void daemon_rounds_end(struct daemon_rounds *rounds);

/*
 * Waits for the end of the current round, if there is one, or of the daemon. Returns -ETIMEDOUT,
 * after a message, if that takes too long.
 */
int daemon_rounds_await(const struct stepwise_protocol *protocol);

#endif
