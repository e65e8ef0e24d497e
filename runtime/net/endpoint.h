/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Where the daemon gets datagrams by the batch, and answers each of them. */
#ifndef STEPWISE_ENDPOINT_H
#define STEPWISE_ENDPOINT_H

#include <stddef.h>

#include "state/daemon_file.h"

#define ENDPOINT_BATCH_MAX 64
#define ENDPOINT_PAYLOAD_BYTES_MAX 1500

struct endpoint_datagram {
	unsigned char *payload; /* until the next batch; there is room for
				   ENDPOINT_PAYLOAD_BYTES_MAX */
	size_t size;		/* of what came, then of the reply */
	unsigned int ifindex;	/* where it arrived */
	unsigned char *frame;	/* that it is in */
};

/* Of the longest frame: with the headers of IPv6. */
#define FRAME_HEADERS_BYTES_MAX 62
#define FRAME_BYTES_MAX (FRAME_HEADERS_BYTES_MAX + ENDPOINT_PAYLOAD_BYTES_MAX)

/* A datagram as it came, in its frame: all that a reply to it takes. */
struct endpoint_kept {
	size_t size;
	unsigned int ifindex;
	_Alignas(8) unsigned char bytes[FRAME_BYTES_MAX];
};

struct endpoint {
	int fd; /* readable while datagrams wait */
	const struct endpoint_operations *operations;
	struct endpoint_datagram datagrams[ENDPOINT_BATCH_MAX];
	__u64 overflowed; /* of what `operations->overflowed` says, already counted */
};

struct endpoint_operations {
	/* The datagrams that were waiting, at most ENDPOINT_BATCH_MAX. Never waits. */
	size_t (*receive)(struct endpoint *endpoint, struct daemon_statistics *statistics);

	/* Puts one of the batch, with what its payload and its size are now, behind the replies
	 * that wait to be sent. */
	void (*reply)(struct endpoint *endpoint, size_t index);

	/*
	 * Sends the replies that wait; when it returns, they have been through TC. Never
	 * waits: what cannot go now is dropped. To be called before the next batch.
	 */
	void (*flush)(struct endpoint *endpoint, struct daemon_statistics *statistics);

	/* One of the batch, for later. */
	void (*keep)(const struct endpoint *endpoint, size_t index, struct endpoint_kept *kept);

	/* What was kept is a datagram of the batch; `kept` stays as it is until the batch is over.
	 */
	void (*restore)(struct endpoint *endpoint, size_t index, struct endpoint_kept *kept);

	/* Datagrams that found no room to wait in, since it was opened. */
	__u64 (*overflowed)(const struct endpoint *endpoint);

	void (*close)(struct endpoint *endpoint);
};

#endif
