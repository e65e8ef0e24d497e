/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * When the tables were made. Whoever was promised something by earlier ones, which are gone, may
 * rely on it for a while: steps that promise look at how long the tables have been there (env.age).
 */
#ifndef STEPWISE_BIRTH_H
#define STEPWISE_BIRTH_H

#include "stepwise.h"

/*
 * Pins the moment with what else a load stages of the state. first: nobody can rely on earlier
 * tables, so that these count as old from the start. 0, or a negative errno after a message.
 */
int birth_pin(bool first);

/* When the pinned tables were made, on the clock of clock_now_ns(); 0 where they count as old.
 * Likewise. */
int birth_read(__u64 *born_ns);

/* How old tables are that were made then. */
__u64 birth_age_ns(__u64 born_ns, __u64 now_ns);

/* Says for how long the steps will find the pinned tables too new, if they do. */
void birth_tell(const struct stepwise_protocol *protocol);

#endif
