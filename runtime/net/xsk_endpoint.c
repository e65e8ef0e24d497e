/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <linux/if_xdp.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "net/frame_reply.h"
#include "net/xsk_endpoint.h"

#define CHUNK_BYTES 2048 /* room for the kernel's headroom and for our longest frame */
#define CHUNKS_MIN 2
#define CHUNKS_MAX 16384

/* A ring that the kernel shares. We are the producer of one ring and the consumer of the other. */
struct ring {
	void *mapped;
	size_t mapped_bytes;
	__u32 *producer;
	__u32 *consumer;
	void *entries;
};

struct xsk_endpoint {
	struct frame_endpoint framed; /* must be first: the operations receive it */
	unsigned int ifindex;
	unsigned char *memory; /* chunk_count chunks */
	__u32 chunk_count;     /* also the number of entries of each ring; a power of two */
	struct ring received;
	struct ring vacant;
	/* The frames of the current batch, by their offset in `memory`. */
	struct xdp_desc frames[ENDPOINT_BATCH_MAX];
	size_t frame_count;
};

/* Returns chunks to the kernel. The ring has an entry for each chunk. */
static void put_chunks(struct xsk_endpoint *xsk)
{
	__u64 *entries = xsk->vacant.entries;
	__u32 producer = *xsk->vacant.producer;

	for (size_t i = 0; i < xsk->frame_count; i++)
		entries[producer++ & (xsk->chunk_count - 1)] =
			xsk->frames[i].addr / CHUNK_BYTES * CHUNK_BYTES;
	__atomic_store_n(xsk->vacant.producer, producer, __ATOMIC_RELEASE);
	xsk->frame_count = 0;
}

static size_t receive(struct endpoint *endpoint, struct daemon_statistics *statistics)
{
	struct xsk_endpoint *xsk = (struct xsk_endpoint *)endpoint;
	const struct xdp_desc *entries = xsk->received.entries;
	__u32 consumer = *xsk->received.consumer;
	__u32 count = __atomic_load_n(xsk->received.producer, __ATOMIC_ACQUIRE) - consumer;
	size_t taken = 0;

	(void)statistics;
	put_chunks(xsk);
	/*
	 * Leave half of the chunks to the kernel. Taken chunks return with the next batch, and only
	 * an arriving frame, which needs a chunk, starts one.
	 */
	if (count > xsk->chunk_count / 2)
		count = xsk->chunk_count / 2;
	if (count > ENDPOINT_BATCH_MAX)
		count = ENDPOINT_BATCH_MAX;
	for (; taken < count; taken++) {
		const struct xdp_desc entry = entries[consumer++ & (xsk->chunk_count - 1)];

		xsk->frames[taken] = entry;
		endpoint->datagrams[taken] = frame_datagram(xsk->memory + entry.addr, xsk->ifindex);
	}
	xsk->frame_count = taken;
	__atomic_store_n(xsk->received.consumer, consumer, __ATOMIC_RELEASE);
	return taken;
}

static __u64 overflowed(const struct endpoint *endpoint)
{
	struct xdp_statistics counted = {};
	socklen_t size = sizeof(counted);

	if (getsockopt(endpoint->fd, SOL_XDP, XDP_STATISTICS, &counted, &size))
		return 0;
	return counted.rx_dropped + counted.rx_ring_full;
}

static void unmap_ring(struct ring *ring)
{
	if (ring->mapped)
		munmap(ring->mapped, ring->mapped_bytes);
}

static void close_endpoint(struct endpoint *endpoint)
{
	struct xsk_endpoint *xsk = (struct xsk_endpoint *)endpoint;

	unmap_ring(&xsk->received);
	unmap_ring(&xsk->vacant);
	if (endpoint->fd >= 0)
		close(endpoint->fd);
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

static int map_ring(int fd, struct ring *ring, const struct xdp_ring_offset *offsets,
		    size_t entries_bytes, off_t which)
{
	const size_t bytes = offsets->desc + entries_bytes;
	unsigned char *mapped =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, which);

	if (mapped == MAP_FAILED)
		return -errno;
	*ring = (struct ring){
		.mapped = mapped,
		.mapped_bytes = bytes,
		.producer = (__u32 *)(mapped + offsets->producer),
		.consumer = (__u32 *)(mapped + offsets->consumer),
		.entries = mapped + offsets->desc,
	};
	return 0;
}

/*
 * The kernel requires a completion ring too, but it stays unused: replies leave by the other
 * socket.
 */
static int open_rings(struct xsk_endpoint *xsk)
{
	const int fd = xsk->framed.endpoint.fd, entries = xsk->chunk_count, unused = 1;
	const struct xdp_umem_reg area = {
		.addr = (__u64)(unsigned long)xsk->memory,
		.len = (__u64)xsk->chunk_count * CHUNK_BYTES,
		.chunk_size = CHUNK_BYTES,
	};
	const struct {
		int name;
		const void *value;
		socklen_t size;
	} options[] = {
		{ XDP_UMEM_REG, &area, sizeof(area) },
		{ XDP_UMEM_FILL_RING, &entries, sizeof(entries) },
		{ XDP_UMEM_COMPLETION_RING, &unused, sizeof(unused) },
		{ XDP_RX_RING, &entries, sizeof(entries) },
	};
	struct xdp_mmap_offsets offsets;
	socklen_t size = sizeof(offsets);
	int err;

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (setsockopt(fd, SOL_XDP, options[i].name, options[i].value, options[i].size))
			return -errno;
	if (getsockopt(fd, SOL_XDP, XDP_MMAP_OFFSETS, &offsets, &size))
		return -errno;
	err = map_ring(fd, &xsk->received, &offsets.rx, entries * sizeof(struct xdp_desc),
		       XDP_PGOFF_RX_RING);
	if (err)
		return err;
	return map_ring(fd, &xsk->vacant, &offsets.fr, entries * sizeof(__u64),
			XDP_UMEM_PGOFF_FILL_RING);
}

static void put_all_chunks(struct xsk_endpoint *xsk)
{
	__u64 *entries = xsk->vacant.entries;

	for (__u32 i = 0; i < xsk->chunk_count; i++)
		/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): map_rings mapped it. */
		entries[i] = (__u64)i * CHUNK_BYTES;
	__atomic_store_n(xsk->vacant.producer, xsk->chunk_count, __ATOMIC_RELEASE);
}

/* Works with any driver, because the kernel copies. */
static int bind_socket(struct xsk_endpoint *xsk, const struct xsk_queue *queue)
{
	const struct sockaddr_xdp receiver = {
		.sxdp_family = AF_XDP,
		.sxdp_flags = XDP_COPY,
		.sxdp_ifindex = queue->ifindex,
		.sxdp_queue_id = queue->number,
	};

	/* NOLINTNEXTLINE(clang-analyzer-unix.StdCLibraryFunctions): only called with a socket. */
	return bind(xsk->framed.endpoint.fd, (const struct sockaddr *)&receiver, sizeof(receiver)) ?
		       -errno :
		       0;
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
	xsk->framed.endpoint.fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
	memory = mmap(NULL, (size_t)xsk->chunk_count * CHUNK_BYTES, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory != MAP_FAILED)
		xsk->memory = memory;
	if (xsk->framed.endpoint.fd < 0 || !xsk->memory) {
		err = -errno;
		goto failed;
	}
	err = open_rings(xsk);
	if (err)
		goto failed;
	put_all_chunks(xsk);
	err = bind_socket(xsk, queue);
	if (err)
		goto failed;
	return &xsk->framed.endpoint;
failed:
	close_endpoint(&xsk->framed.endpoint);
	errno = -err;
	return NULL;
}
