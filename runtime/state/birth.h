/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The time when the tables were made. Clients may still rely for a while on promises of earlier
 * tables, which are gone. So steps that promise something check the age of the tables (env.age).
 */
#ifndef STEPWISE_BIRTH_H
#define STEPWISE_BIRTH_H

#include "stepwise.h"

/*
 * Pins the current time with the rest of the state that a load stages. first: no client can rely on
 * earlier tables, so these count as old from the start. Returns 0, or a negative errno after a
 * message.
 */
int birth_pin(bool first);

/*
 * Reads when the pinned tables were made, on the clock of clock_now_ns(); 0 if they count as old.
 * Returns 0, or a negative errno after a message.
 */
int birth_read(__u64 *born_ns);

/* Returns the age of tables that were made at that time. */
__u64 birth_age_ns(__u64 born_ns, __u64 now_ns);

/* If the pinned tables are still too new for the steps, reports for how long. */
void birth_tell(const struct stepwise_protocol *protocol);

#endif
