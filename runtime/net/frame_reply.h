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

/* The first member of an endpoint that receives whole frames. */
struct frame_endpoint {
	struct endpoint endpoint; /* must be first: the operations receive it */
	struct frame_replies replies;
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
 * These implement the operations of the same names, for the endpoint of a `struct frame_endpoint`.
 * A reply is the frame turned round, so that it goes back to its sender.
 */
void frame_reply(struct endpoint *endpoint, size_t index);
void frame_flush(struct endpoint *endpoint, struct daemon_statistics *statistics);
void frame_keep(const struct endpoint *endpoint, size_t index, struct endpoint_kept *kept);
void frame_restore(struct endpoint *endpoint, size_t index, struct endpoint_kept *kept);

#endif
