/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Holds the service's UDP port. The port receives nothing: forwarded packets arrive by other ways,
 * and XDP did not check packets that come up the network stack. The kernel drops these here and
 * counts them, without waking the daemon.
 *
 * While the port is held, nobody else can bind it, and clients do not learn that it is closed.
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

/*
 * Binds the port on every address of every family that the system has. Returns a negative errno
 * after a message.
 */
int port_hold(struct port *port, __u16 number);

/*
 * Tells the programs that a daemon lives, until the port is released for any reason. Returns a
 * negative errno after a message.
 */
int port_announce(const struct port *port);

/* Returns the number of dropped datagrams. */
__u64 port_strangers(const struct port *port);

void port_release(struct port *port);

#endif
