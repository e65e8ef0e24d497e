/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Waits for every program run in flight to end, on a thread of its own: the daemon answers
 * meanwhile. */
#ifndef STEPWISE_GRACE_H
#define STEPWISE_GRACE_H

struct grace;

/* NULL after a message. Starts a thread: drop privileges first. */
struct grace *grace_open(void);
void grace_close(struct grace *grace);

/* Becomes readable when the period asked for is over. */
int grace_fd(const struct grace *grace);

void grace_begin(struct grace *grace);

/* Takes note of the end: grace_fd() is no longer readable. */
void grace_end(struct grace *grace);

#endif
