/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* A UDP socket that takes datagrams by the batch and answers each from the address it was asked at. */
#ifndef STEPWISE_ENDPOINT_H
#define STEPWISE_ENDPOINT_H

#include <stdbool.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "daemon_file.h"

#define ENDPOINT_BATCH_MAX 64
#define ENDPOINT_PAYLOAD_BYTES_MAX 1500

struct endpoint_datagram {
	struct sockaddr_storage peer;
	struct iovec vector;
	/* Of the packet information that came with it and goes back with the reply. */
	_Alignas(struct cmsghdr) unsigned char control[CMSG_SPACE(sizeof(struct in6_pktinfo))];
	unsigned char payload[ENDPOINT_PAYLOAD_BYTES_MAX];
	unsigned int ifindex;  /* where it arrived */
};

struct endpoint {
	int fd;
	int family;
	struct mmsghdr headers[ENDPOINT_BATCH_MAX];
	struct endpoint_datagram datagrams[ENDPOINT_BATCH_MAX];
	struct mmsghdr replies[ENDPOINT_BATCH_MAX];
	size_t reply_count;
};

/* Binds to the port on every address of the family. NULL after a message, or with *unsupported where there is no such family. */
struct endpoint *endpoint_open(int family, __u16 port, bool *unsupported);
void endpoint_close(struct endpoint *endpoint);

/* Datagrams that were waiting, at most ENDPOINT_BATCH_MAX; their sizes are headers[i].msg_len. Never waits. */
size_t endpoint_receive(struct endpoint *endpoint, struct daemon_statistics *statistics);

/* Puts a reply to one of the batch, of `size` bytes, behind those that wait to be sent. */
void endpoint_reply(struct endpoint *endpoint, size_t index, size_t size);

/*
 * Sends what waits; when it returns, all of it has been through TC. Never waits: what
 * cannot go now is dropped. To be called before the next batch is received.
 */
void endpoint_flush(struct endpoint *endpoint, struct daemon_statistics *statistics);

#endif
