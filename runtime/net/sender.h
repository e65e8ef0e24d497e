/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The one socket by which the daemon's replies leave, as whole frames (AF_PACKET). TC completes
 * only what this socket sends. */
#ifndef STEPWISE_SENDER_SOCKET_H
#define STEPWISE_SENDER_SOCKET_H

/* Tells TC the socket's cookie, in place of an earlier daemon's. A negative errno after a message.
 */
int sender_announce(int sender_fd);

#endif
