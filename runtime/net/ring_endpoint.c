/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/libbpf.h>
#include <sys/mman.h>

#include "base/log.h"
#include "net/frame_reply.h"
#include "net/ring_endpoint.h"
#include "state/programs.h"
#include "stepwise_forward.h"

struct frame {
	_Alignas(8) unsigned char bytes[FRAME_BYTES_MAX];
};

struct ring_endpoint {
	struct frame_endpoint framed; /* must be first: the operations receive it */
	struct ring_buffer *ring;
	struct stepwise_ring_limits *limits; /* shared with the programs */
	__u64 lost_before;		     /* value of limits->lost at the start */
	struct daemon_statistics *statistics;
	/* The current batch. */
	struct frame frames[ENDPOINT_BATCH_MAX];
	size_t sample_count; /* samples taken from the ring */
	size_t frame_count;  /* samples of these that contain a datagram */
};

static bool is_whole(const struct stepwise_ring_frame *frame, size_t sample_size)
{
	return sample_size >= sizeof(*frame) && frame->size <= sample_size - sizeof(*frame) &&
	       frame_is_whole(frame->bytes, frame->size);
}

/*
 * Takes one sample. It copies the frame, because a reply is made in place and may be longer, and
 * because programs reuse the sample's memory as soon as it was read. A negative result ends the
 * round, and this sample counts as read.
 */
static int take(void *context, void *sample, size_t sample_size)
{
	const struct stepwise_ring_frame *frame = sample;
	struct ring_endpoint *ring = context;
	unsigned char *copy = ring->frames[ring->frame_count].bytes;

	if (is_whole(frame, sample_size)) {
		memcpy(copy, frame->bytes, frame->size);
		ring->framed.endpoint.datagrams[ring->frame_count++] =
			frame_datagram(copy, frame->ifindex);
	} else {
		ring->statistics->received++;
		ring->statistics->malformed++;
	}
	return ++ring->sample_count == ENDPOINT_BATCH_MAX ? -ENOBUFS : 0;
}

static size_t receive(struct endpoint *endpoint, struct daemon_statistics *statistics)
{
	struct ring_endpoint *ring = (struct ring_endpoint *)endpoint;

	ring->statistics = statistics;
	ring->sample_count = 0;
	ring->frame_count = 0;
	ring_buffer__consume(ring->ring);
	statistics->received_by_ring += ring->frame_count;
	return ring->frame_count;
}

static __u64 overflowed(const struct endpoint *endpoint)
{
	const struct ring_endpoint *ring = (const struct ring_endpoint *)endpoint;

	return __atomic_load_n(&ring->limits->lost, __ATOMIC_RELAXED) - ring->lost_before;
}

static void close_endpoint(struct endpoint *endpoint)
{
	struct ring_endpoint *ring = (struct ring_endpoint *)endpoint;

	ring_buffer__free(ring->ring);
	if (ring->framed.endpoint.fd >= 0)
		close(ring->framed.endpoint.fd);
	if (ring->limits)
		munmap(ring->limits, sizeof(*ring->limits));
	free(ring);
}

static const struct endpoint_operations operations = {
	.receive = receive,
	.reply = frame_reply,
	.flush = frame_flush,
	.keep = frame_keep,
	.restore = frame_restore,
	.overflowed = overflowed,
	.close = close_endpoint,
};

static int map_limits(struct ring_endpoint *ring, __u32 buffer_bytes)
{
	int fd = open_pinned_map("stepwise_ring_limits");
	void *mapped;
	int err;

	if (fd < 0)
		return fd;
	mapped = mmap(NULL, sizeof(*ring->limits), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	err = mapped == MAP_FAILED ? -errno : 0;
	close(fd);
	if (err) {
		log_error("cannot map the limits of the ring buffer: %s", strerror(-err));
		return err;
	}
	ring->limits = mapped;
	ring->lost_before = __atomic_load_n(&ring->limits->lost, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->limits->bytes_max,
			 buffer_bytes < STEPWISE_RING_BYTES ? buffer_bytes : STEPWISE_RING_BYTES,
			 __ATOMIC_RELAXED);
	return 0;
}

static int pass_over(void *context, void *sample, size_t sample_size)
{
	(void)context, (void)sample, (void)sample_size;
	return 0;
}

/*
 * Discards what waited for a daemon that was killed, like what waited in its sockets: the senders
 * have long asked again.
 */
static int empty(int ring_fd)
{
	struct ring_buffer *ring = ring_buffer__new(ring_fd, pass_over, NULL, NULL);

	if (!ring)
		return -errno;
	ring_buffer__consume(ring);
	ring_buffer__free(ring);
	return 0;
}

static int open_ring(struct ring_endpoint *ring, __u32 buffer_bytes)
{
	int err;

	ring->framed.endpoint.fd = open_pinned_map("stepwise_ring");
	if (ring->framed.endpoint.fd < 0)
		return ring->framed.endpoint.fd;
	err = empty(ring->framed.endpoint.fd);
	if (err) {
		log_error("cannot read the ring buffer of forwarded requests: %s", strerror(-err));
		return err;
	}
	ring->ring = ring_buffer__new(ring->framed.endpoint.fd, take, ring, NULL);
	err = ring->ring ? 0 : -errno;
	if (err) {
		log_error("cannot open the ring buffer of forwarded requests: %s", strerror(-err));
		return err;
	}
	return map_limits(ring, buffer_bytes);
}

struct endpoint *ring_endpoint_open(int sender_fd, __u32 buffer_bytes)
{
	struct ring_endpoint *ring = calloc(1, sizeof(*ring));

	if (!ring) {
		log_error("cannot open an endpoint: %s", strerror(ENOMEM));
		return NULL;
	}
	ring->framed.endpoint.operations = &operations;
	ring->framed.endpoint.fd = -1;
	ring->framed.replies.fd = sender_fd;
	if (open_ring(ring, buffer_bytes) == 0)
		return &ring->framed.endpoint;
	close_endpoint(&ring->framed.endpoint);
	return NULL;
}
