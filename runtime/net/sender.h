/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The only socket that sends the daemon's replies, as whole frames (AF_PACKET). TC completes only
 * frames from this socket.
 */
#ifndef STEPWISE_SENDER_SOCKET_H
#define STEPWISE_SENDER_SOCKET_H

/*
 * Gives TC the socket's cookie, which replaces that of an earlier daemon. Returns a negative errno
 * after a message.
 */
int sender_announce(int sender_fd);

#endif
