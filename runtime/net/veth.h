/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#ifndef STEPWISE_VETH_H
#define STEPWISE_VETH_H

#include "net/interfaces.h"

/* Whether an interface of this network namespace is one. */
bool veth_is(unsigned int ifindex);

/*
 * A veth drops what XDP sends where its peer has no XDP program. Warns of a peer without
 * one, and of one that cannot be seen from here; says what to do about what the peer leaves to
 * devices. Nothing to do for any other interface.
 */
void veth_check_peer(const struct interface *interface);

#endif
