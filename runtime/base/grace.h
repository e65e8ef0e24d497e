/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Waits until every program run in flight has ended. It waits on a separate thread, so that the
 * daemon can answer meanwhile.
 */
#ifndef STEPWISE_GRACE_H
#define STEPWISE_GRACE_H

struct grace;

/* Starts a thread, so drop privileges first. Returns NULL after a message. */
struct grace *grace_open(void);
void grace_close(struct grace *grace);

/* Becomes readable when the period that grace_begin() started is over. */
int grace_fd(const struct grace *grace);

void grace_begin(struct grace *grace);

/* Acknowledges the end of the period: grace_fd() is no longer readable. */
void grace_end(struct grace *grace);

#endif
