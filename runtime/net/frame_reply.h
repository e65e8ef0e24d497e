/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What endpoints that get whole frames have in common: where the datagram is, and how its reply
 * leaves. */
#ifndef STEPWISE_FRAME_REPLY_H
#define STEPWISE_FRAME_REPLY_H

#include <stdbool.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "net/endpoint.h"

/* Replies that wait to be sent. They leave as frames by the sender's socket, and so through TC as
 * any others. */
struct frame_replies {
	int fd; /* the sender's */
	size_t count;
	struct iovec vectors[ENDPOINT_BATCH_MAX];
	struct sockaddr_ll ways[ENDPOINT_BATCH_MAX];
	struct mmsghdr messages[ENDPOINT_BATCH_MAX];
};

/* Whether `size` bytes have all of a datagram, not longer than an endpoint's. */
bool frame_is_whole(const unsigned char *frame, size_t size);

/* What is in a frame that is whole, as XDP has found it to be or frame_is_whole(). */
struct endpoint_datagram frame_datagram(unsigned char *frame, unsigned int ifindex);

/* Whose it is: an IPv4 address is IPv4-mapped. */
struct in6_addr frame_source(const unsigned char *frame);

/* The socket by which replies leave. A descriptor, or a negative errno without a message. */
int frame_sender_open(void);

/* Makes the frame that `reply` came in, whose payload is changed already, into one that goes back
 * where it came from. */
void frame_replies_add(struct frame_replies *replies, const struct endpoint_datagram *reply);

/* As endpoint_operations.keep and .restore. */
void frame_keep(const struct endpoint *endpoint, size_t index, struct endpoint_kept *kept);
void frame_restore(struct endpoint *endpoint, size_t index, struct endpoint_kept *kept);

/* As endpoint_operations.flush. */
void frame_replies_send(struct frame_replies *replies, struct daemon_statistics *statistics);

#endif
