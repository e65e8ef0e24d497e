/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The generated steps over ordinary memory: what servers have in common that the fast path is
 * measured against. Nothing is swept. What a protocol drains goes nowhere: it is taken, and counts
 * as written and synced at once.
 */
#ifndef STEPWISE_USERSPACE_STEPS_H
#define STEPWISE_USERSPACE_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <netinet/in.h>

#include "stepwise.h"

/* Whether the hooks are there as plain functions, and the longest message is shorter than so many
 * bytes. */
bool userspace_steps_fit(size_t payload_bytes_max);

/* Makes the tables. 0 or a negative errno, without a message. */
int userspace_steps_open(void);

/* What all hooks together make of a datagram from somebody: whether it is to be answered, by what
 * its payload and its size are then. */
bool userspace_steps_decide(const struct in6_addr *source, unsigned char *payload, size_t *size,
			    struct stepwise_environment *environment);

/* To be called after each batch of datagrams, so that a lane is no fuller than with a daemon that
 * keeps up. */
void userspace_steps_drain(void);

#endif
