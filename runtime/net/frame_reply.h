/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Shared code of endpoints that receive whole frames: finds the datagram, and sends its reply. */
#ifndef STEPWISE_FRAME_REPLY_H
#define STEPWISE_FRAME_REPLY_H

#include <stdbool.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "net/endpoint.h"

/* Queued replies. They leave as frames by the sender's socket, and so pass TC like all others. */
struct frame_replies {
	int fd; /* the sender's socket */
	size_t count;
	struct iovec vectors[ENDPOINT_BATCH_MAX];
	struct sockaddr_ll ways[ENDPOINT_BATCH_MAX];
	struct mmsghdr messages[ENDPOINT_BATCH_MAX];
};

/* True if `size` bytes contain a whole datagram that is not too long for an endpoint. */
bool frame_is_whole(const unsigned char *frame, size_t size);

/* Returns the datagram of a whole frame. XDP or frame_is_whole() must have checked the frame. */
struct endpoint_datagram frame_datagram(unsigned char *frame, unsigned int ifindex);

/* Returns the source address, with IPv4 as IPv4-mapped. */
struct in6_addr frame_source(const unsigned char *frame);

/*
 * Opens the socket that sends replies. Returns a descriptor, or a negative errno without a message.
 */
int frame_sender_open(void);

/*
 * Turns the frame of `reply` round, so that it goes back to its sender. The payload is already
 * changed.
 */
void frame_replies_add(struct frame_replies *replies, const struct endpoint_datagram *reply);

/* Implements endpoint_operations.keep and .restore. */
void frame_keep(const struct endpoint *endpoint, size_t index, struct endpoint_kept *kept);
void frame_restore(struct endpoint *endpoint, size_t index, struct endpoint_kept *kept);

/* Implements endpoint_operations.flush. */
void frame_replies_send(struct frame_replies *replies, struct daemon_statistics *statistics);

#endif
