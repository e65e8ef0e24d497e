/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Where the daemon receives datagrams in batches and answers each of them. */
#ifndef STEPWISE_ENDPOINT_H
#define STEPWISE_ENDPOINT_H

#include <stddef.h>

#include "state/run_state.h"

#define ENDPOINT_BATCH_MAX 64
#define ENDPOINT_PAYLOAD_BYTES_MAX 1500

struct endpoint_datagram {
	/* Valid until the next batch. There is room for ENDPOINT_PAYLOAD_BYTES_MAX. */
	unsigned char *payload;
	size_t size;	      /* size of the datagram, then of the reply */
	unsigned int ifindex; /* interface where it arrived */
	unsigned char *frame; /* the frame that contains it */
};

/* Headers of the longest frame, which is IPv6. */
#define FRAME_HEADERS_BYTES_MAX 62
#define FRAME_BYTES_MAX (FRAME_HEADERS_BYTES_MAX + ENDPOINT_PAYLOAD_BYTES_MAX)

/* A copy of a datagram in its frame, with all that a reply needs. */
struct endpoint_kept {
	size_t size;
	unsigned int ifindex;
	_Alignas(8) unsigned char bytes[FRAME_BYTES_MAX];
};

struct endpoint {
	int fd; /* readable while datagrams wait */
	const struct endpoint_operations *operations;
	struct endpoint_datagram datagrams[ENDPOINT_BATCH_MAX];
	__u64 overflowed; /* value of `operations->overflowed` that is already counted */
};

struct endpoint_operations {
	/* Receives waiting datagrams, at most ENDPOINT_BATCH_MAX. Never waits. */
	size_t (*receive)(struct endpoint *endpoint, struct daemon_statistics *statistics);

	/* Queues a datagram of the batch as a reply, with its current payload and size. */
	void (*reply)(struct endpoint *endpoint, size_t index);

	/*
	 * Sends the queued replies. When it returns, they have been through TC. Never waits: a
	 * reply that cannot be sent now is dropped. Call it before the next batch.
	 */
	void (*flush)(struct endpoint *endpoint, struct daemon_statistics *statistics);

	/* Copies a datagram of the batch, for later. */
	void (*keep)(const struct endpoint *endpoint, size_t index, struct endpoint_kept *kept);

	/*
	 * Makes a kept datagram part of the batch. `kept` must not change until the batch is done.
	 */
	void (*restore)(struct endpoint *endpoint, size_t index, struct endpoint_kept *kept);

	/*
	 * Returns the number of datagrams that found no room to wait, since the endpoint was
	 * opened.
	 */
	__u64 (*overflowed)(const struct endpoint *endpoint);

	void (*close)(struct endpoint *endpoint);
};

#endif
