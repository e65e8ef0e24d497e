/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#ifndef STEPWISE_VETH_H
#define STEPWISE_VETH_H

#include "net/interfaces.h"

/* True if an interface of this network namespace is a veth. */
bool veth_is(unsigned int ifindex);

/*
 * A veth drops the packets that XDP sends if its peer has no XDP program. Warns if the peer has
 * none, or cannot be seen from here. Hints at what to do about the peer's offloads. Does nothing
 * for any other interface.
 */
void veth_check_peer(const struct interface *interface);

#endif
