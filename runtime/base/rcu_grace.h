/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Waits until every program run in flight has ended. It waits on a separate thread, so that the
 * daemon can answer meanwhile.
 */
#ifndef STEPWISE_RCU_GRACE_H
#define STEPWISE_RCU_GRACE_H

struct rcu_grace;

/* Starts a thread, so drop privileges first. Returns NULL after a message. */
struct rcu_grace *rcu_grace_open(void);
void rcu_grace_close(struct rcu_grace *grace);

/* Becomes readable when the period that rcu_grace_begin() started is over. */
int rcu_grace_fd(const struct rcu_grace *grace);

void rcu_grace_begin(struct rcu_grace *grace);

/* Acknowledges the end of the period: rcu_grace_fd() is no longer readable. */
void rcu_grace_end(struct rcu_grace *grace);

#endif
