/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The addresses of this network namespace, by which the programs decide whether a packet is for
 * this host. The loader enters them before it attaches a program. From then on the daemon keeps
 * them up to date.
 */
#ifndef STEPWISE_RUNTIME_ADDRESSES_H
#define STEPWISE_RUNTIME_ADDRESSES_H

#include "stepwise.h"

struct addresses;

/*
 * Enters the addresses where the programs are pinned, which may be in staging/. The pins must be
 * held exclusively. Does nothing if the maps are in use and a daemon runs: the daemon has entered
 * them, and two writers could undo each other's work. Returns 0, or a negative errno after a
 * message.
 */
int addresses_enter(const struct stepwise_protocol *protocol);

/* Enters the addresses and watches for changes. Returns NULL after a message. */
struct addresses *addresses_open(void);
void addresses_close(struct addresses *addresses);

/* Becomes readable when an address was added or removed. Then call addresses_follow(). */
int addresses_fd(const struct addresses *addresses);
void addresses_follow(struct addresses *addresses);

/* Call this now and then. It retries what failed. */
void addresses_again(struct addresses *addresses);

/* True if the kernel lets this process use the map; otherwise errno has the reason. */
bool addresses_may_run(const struct addresses *addresses);

#endif
