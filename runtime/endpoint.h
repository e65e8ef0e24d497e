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
};

/* Binds to the port on every address of the family. NULL after a message, or with *unsupported where there is no such family. */
struct endpoint *endpoint_open(int family, __u16 port, bool *unsupported);
void endpoint_close(struct endpoint *endpoint);

/* Datagrams that were waiting, at most ENDPOINT_BATCH_MAX; their sizes are headers[i].msg_len. Never waits. */
size_t endpoint_receive(struct endpoint *endpoint, struct daemon_statistics *statistics);

/* Sends one of the batch back, with `size` bytes. Never waits: what cannot go now is dropped. */
void endpoint_reply(struct endpoint *endpoint, size_t index, size_t size, struct daemon_statistics *statistics);

#endif
