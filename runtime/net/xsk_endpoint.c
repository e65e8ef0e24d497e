/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <linux/if_xdp.h>
#include <net/if.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <xdp/xsk.h>

#include "net/frame_reply.h"
#include "net/xsk_endpoint.h"

#define CHUNK_BYTES 2048 /* room for the kernel's headroom and for our longest frame */
#define CHUNKS_MIN 2
#define CHUNKS_MAX 16384

struct xsk_endpoint {
	struct frame_endpoint framed; /* must be first: the operations receive it */
	unsigned int ifindex;
	unsigned char *memory; /* chunk_count chunks */
	__u32 chunk_count;     /* also the number of entries of each ring; a power of two */
	struct xsk_umem *chunks;
	struct xsk_socket *socket;
	struct xsk_ring_cons received;
	struct xsk_ring_prod vacant;
	struct xsk_ring_cons sent; /* stays empty: replies leave by the other socket */
	/* The frames of the current batch, by their offset in `memory`. */
	struct xdp_desc frames[ENDPOINT_BATCH_MAX];
	size_t frame_count;
};

/* Returns chunks to the kernel. The ring has an entry for each chunk. */
static void put_chunks(struct xsk_endpoint *xsk)
{
	__u32 first, count = xsk_ring_prod__reserve(&xsk->vacant, xsk->frame_count, &first);

	for (__u32 i = 0; i < count; i++)
		*xsk_ring_prod__fill_addr(&xsk->vacant, first + i) =
			xsk->frames[i].addr / CHUNK_BYTES * CHUNK_BYTES;
	xsk_ring_prod__submit(&xsk->vacant, count);
	xsk->frame_count = 0;
}

static size_t receive(struct endpoint *endpoint, struct daemon_statistics *statistics)
{
	struct xsk_endpoint *xsk = (struct xsk_endpoint *)endpoint;
	/*
	 * Leave half of the chunks to the kernel. Taken chunks return with the next batch, and only
	 * an arriving frame, which needs a chunk, starts one.
	 */
	const __u32 wanted = xsk->chunk_count / 2 < ENDPOINT_BATCH_MAX ? xsk->chunk_count / 2 :
									 ENDPOINT_BATCH_MAX;
	__u32 first, count;

	(void)statistics;
	put_chunks(xsk);
	count = xsk_ring_cons__peek(&xsk->received, wanted, &first);
	for (__u32 i = 0; i < count; i++) {
		const struct xdp_desc entry = *xsk_ring_cons__rx_desc(&xsk->received, first + i);

		xsk->frames[i] = entry;
		endpoint->datagrams[i] = frame_datagram(xsk->memory + entry.addr, xsk->ifindex);
	}
	xsk->frame_count = count;
	xsk_ring_cons__release(&xsk->received, count);
	return count;
}

static __u64 overflowed(const struct endpoint *endpoint)
{
	struct xdp_statistics counted = {};
	socklen_t size = sizeof(counted);

	if (getsockopt(endpoint->fd, SOL_XDP, XDP_STATISTICS, &counted, &size))
		return 0;
	return counted.rx_dropped + counted.rx_ring_full;
}

static void close_endpoint(struct endpoint *endpoint)
{
	struct xsk_endpoint *xsk = (struct xsk_endpoint *)endpoint;

	xsk_socket__delete(xsk->socket);
	xsk_umem__delete(xsk->chunks);
	if (xsk->memory)
		munmap(xsk->memory, (size_t)xsk->chunk_count * CHUNK_BYTES);
	free(xsk);
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

static void put_all_chunks(struct xsk_endpoint *xsk)
{
	__u32 first, count = xsk_ring_prod__reserve(&xsk->vacant, xsk->chunk_count, &first);

	for (__u32 i = 0; i < count; i++)
		*xsk_ring_prod__fill_addr(&xsk->vacant, first + i) = (__u64)i * CHUNK_BYTES;
	xsk_ring_prod__submit(&xsk->vacant, count);
}

/* Works with any driver, because the kernel copies. Returns a negative errno on failure. */
static int open_socket(struct xsk_endpoint *xsk, const struct xsk_queue *queue)
{
	const struct xsk_umem_config area = {
		.fill_size = xsk->chunk_count,
		.comp_size = 1, /* the kernel requires such a ring */
		.frame_size = CHUNK_BYTES,
	};
	const struct xsk_socket_config config = {
		.rx_size = xsk->chunk_count,
		.libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD,
		.bind_flags = XDP_COPY,
	};
	char interface[IF_NAMESIZE];
	int err;

	if (!if_indextoname(queue->ifindex, interface))
		return -errno;
	err = xsk_umem__create(&xsk->chunks, xsk->memory, (__u64)xsk->chunk_count * CHUNK_BYTES,
			       &xsk->vacant, &xsk->sent, &area);
	if (err)
		return err;
	put_all_chunks(xsk);
	err = xsk_socket__create(&xsk->socket, interface, queue->number, xsk->chunks,
				 &xsk->received, NULL, &config);
	if (err)
		return err;
	xsk->framed.endpoint.fd = xsk_socket__fd(xsk->socket);
	/* libxdp 1.3 leaves the socket to every program that is started. */
	return fcntl(xsk->framed.endpoint.fd, F_SETFD, FD_CLOEXEC) ? -errno : 0;
}

static __u32 chunks_of(__u32 buffer_bytes)
{
	__u32 chunks = CHUNKS_MIN;

	while (chunks < CHUNKS_MAX && 2 * chunks * CHUNK_BYTES <= buffer_bytes)
		chunks *= 2;
	return chunks;
}

struct endpoint *xsk_endpoint_open(const struct xsk_queue *queue, int sender_fd, __u32 buffer_bytes)
{
	struct xsk_endpoint *xsk = calloc(1, sizeof(*xsk));
	void *memory;
	int err;

	if (!xsk)
		return NULL;
	xsk->ifindex = queue->ifindex;
	xsk->chunk_count = chunks_of(buffer_bytes);
	xsk->framed.endpoint.operations = &operations;
	xsk->framed.replies.fd = sender_fd;
	memory = mmap(NULL, (size_t)xsk->chunk_count * CHUNK_BYTES, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED) {
		err = -errno;
		goto failed;
	}
	xsk->memory = memory;
	err = open_socket(xsk, queue);
	if (err)
		goto failed;
	return &xsk->framed.endpoint;
failed:
	close_endpoint(&xsk->framed.endpoint);
	errno = -err;
	return NULL;
}
