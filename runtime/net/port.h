/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Holds the service's UDP port. Nothing is received by it: what XDP forwards comes by other ways,
 * and whatever comes up the network stack was not seen by XDP. The kernel drops that here, without
 * waking the daemon, and counts it.
 *
 * While the port is held nobody else can bind it, and clients are not told that it is closed.
 */
#ifndef STEPWISE_PORT_H
#define STEPWISE_PORT_H

#include <stddef.h>
#include <linux/types.h>

#define PORT_FAMILIES 2

struct port {
	int fds[PORT_FAMILIES];
	size_t count;
};

/* Binds the port on every address of every family that the system has. A negative errno after a
 * message. */
int port_hold(struct port *port, __u16 number);

/* Tells the programs that a daemon lives, for as long as the port is held, however that ends. A
 * negative errno after a message. */
int port_announce(const struct port *port);

/* Datagrams that were dropped here. */
__u64 port_strangers(const struct port *port);

void port_release(struct port *port);

#endif
