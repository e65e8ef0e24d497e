/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * This host's addresses, of which the programs tell whether a packet is for it: those of this
 * network namespace. The loader enters them before it attaches a program; from then on the daemon
 * keeps them up to date.
 */
#ifndef STEPWISE_RUNTIME_ADDRESSES_H
#define STEPWISE_RUNTIME_ADDRESSES_H

#include "stepwise.h"

struct addresses;

/*
 * With the pins held exclusively, where the programs are pinned, be it in staging/. Of maps that
 * are in use, a daemon that runs has entered them: two who write could undo each other's work. 0,
 * or a negative errno after a message.
 */
int addresses_enter(const struct stepwise_protocol *protocol);

/* Enters them and watches for changes. NULL after a message. */
struct addresses *addresses_open(void);
void addresses_close(struct addresses *addresses);

/* Readable when an address has come or gone, which addresses_follow() then enters or removes. */
int addresses_fd(const struct addresses *addresses);
void addresses_follow(struct addresses *addresses);

/* To be called now and then: tries again where that failed. */
void addresses_again(struct addresses *addresses);

/* Whether the kernel lets this process use the map; errno says why not. */
bool addresses_may_run(const struct addresses *addresses);

#endif
