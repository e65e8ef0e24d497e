/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The generated steps over ordinary memory, for the servers that the fast path is measured against.
 * There is no sweep. Drained records go nowhere: each is taken, and counts as written and synced at
 * once.
 */
#ifndef STEPWISE_USERSPACE_STEPS_H
#define STEPWISE_USERSPACE_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <netinet/in.h>

#include "stepwise.h"

/*
 * True if the hooks exist as plain functions, and the longest message has fewer bytes than
 * `payload_bytes_max`.
 */
bool userspace_steps_fit(size_t payload_bytes_max);

/* Creates the tables. Returns 0 or a negative errno, without a message. */
int userspace_steps_open(void);

/*
 * Runs all hooks on a datagram. Returns true if it is to be answered, with the new payload and
 * size.
 */
bool userspace_steps_decide(const struct in6_addr *source, unsigned char *payload, size_t *size,
			    struct stepwise_environment *environment);

/*
 * Call this after each batch of datagrams, so that a lane is no fuller than with a daemon that
 * keeps up.
 */
void userspace_steps_drain(void);

#endif
