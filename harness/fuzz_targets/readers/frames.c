/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Receives made-up samples and frames as the daemon does: by the ring buffer of packets that were
 * put off, and by an AF_XDP socket. It opens and uses each only through its header. The kernel's
 * side is here: a ring buffer that hands over samples, a socket whose rings are a file, and a
 * packet socket that checks what is sent.
 *
 * An input consists of pieces: a byte of flags, two bytes of the piece's size, and its bytes. Bit
 * 0: the piece arrives by AF_XDP, if it is a frame that XDP would hand over. Bit 1: all datagrams
 * are kept and restored first. Bit 2: the frame skips XDP's sections, so that its handed-over
 * fields are made up.
 *
 * Each datagram is checked. So is each answer of the protocol's handler, over tables that this
 * input's packets have made.
 */
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <linux/if_xdp.h>
#include <net/if.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <bpf/libbpf.h>

#include "net/frame_reply.h"
#include "net/xsk_endpoint.h"
#include "holds.h"
#include "net/ring_endpoint.h"
#include "state/programs.h"
#include "stepwise.h"
#include "stepwise_bytes.h"
#include "stepwise_forward.h"

#define PIECES_MAX 8
#define PIECE_SIZE 3
#define ETHERNET_SIZE 14
#define UDP_SIZE 8
#define IFINDEX 7
#define SENDER_FD 0 /* nothing is sent by it: see sendmmsg() */
#define BUFFER_BYTES (1u << 17)

/* --- The kernel's ring buffer ----------------------------------------------------------------- */

struct ring_buffer {
	ring_buffer_sample_fn take;
	void *context;
};

static const uint8_t *samples[PIECES_MAX];
static size_t sample_sizes[PIECES_MAX], sample_count, samples_taken;

struct ring_buffer *ring_buffer__new(int fd, ring_buffer_sample_fn take, void *context,
				     const struct ring_buffer_opts *options)
{
	struct ring_buffer *ring = malloc(sizeof(*ring));

	(void)fd, (void)options;
	*ring = (struct ring_buffer){ take, context };
	return ring;
}

void ring_buffer__free(struct ring_buffer *ring)
{
	free(ring);
}

int ring_buffer__consume(struct ring_buffer *ring)
{
	while (samples_taken < sample_count) {
		const size_t size = sample_sizes[samples_taken];
		/* An allocation of its own, aligned as the kernel's: ASan sees a read beyond it. */
		unsigned char *sample = malloc(size);
		int taken;

		memcpy(sample, samples[samples_taken], size);
		samples_taken++;
		taken = ring->take(ring->context, sample, size);
		free(sample);
		if (taken < 0)
			return taken;
	}
	return 0;
}

int open_pinned_map(const char *name)
{
	const int fd = memfd_create(name, MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, 4096))
		abort();
	return fd;
}

/* --- The kernel's sockets --------------------------------------------------------------------- */

#define XDP_MEMORY_BYTES (XDP_UMEM_PGOFF_COMPLETION_RING + (1 << 20))
#define CONSUMER_AT 64
#define ENTRIES_AT 128

static struct xdp_umem_reg area;
static __u32 entry_count;
static unsigned char *rx, *vacant;

int socket(int domain, int type, int protocol)
{
	const int fd = memfd_create("socket", MFD_CLOEXEC);

	(void)type, (void)protocol;
	if (fd < 0 || (domain == AF_XDP && ftruncate(fd, (off_t)XDP_MEMORY_BYTES)))
		abort();
	if (domain != AF_XDP)
		return fd;
	rx = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, XDP_PGOFF_RX_RING);
	vacant = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		      (off_t)XDP_UMEM_PGOFF_FILL_RING);
	if (rx == MAP_FAILED || vacant == MAP_FAILED)
		abort();
	return fd;
}

int setsockopt(int fd, int level, int option, const void *value, socklen_t size)
{
	(void)fd, (void)level;
	if (option == XDP_UMEM_REG && size >= sizeof(area.addr) + sizeof(area.len))
		memcpy(&area, value, size < sizeof(area) ? size : sizeof(area));
	if (option == XDP_RX_RING)
		memcpy(&entry_count, value, sizeof(entry_count));
	return 0;
}

int getsockopt(int fd, int level, int option, void *value, socklen_t *size)
{
	const struct xdp_ring_offset offsets = { .producer = 0,
						 .consumer = CONSUMER_AT,
						 .desc = ENTRIES_AT };

	(void)fd, (void)level;
	memset(value, 0, *size);
	if (option == XDP_MMAP_OFFSETS)
		*(struct xdp_mmap_offsets *)value = (struct xdp_mmap_offsets){
			.rx = offsets, .tx = offsets, .fr = offsets, .cr = offsets
		};
	return 0;
}

/* The interface that IFINDEX means. */
char *if_indextoname(unsigned int ifindex, char *name)
{
	check(ifindex == IFINDEX, "the queue is of the interface that was named");
	return strcpy(name, "fuzzed");
}

unsigned int if_nametoindex(const char *name)
{
	return strcmp(name, "fuzzed") ? 0 : IFINDEX;
}

int bind(int fd, const struct sockaddr *address, socklen_t size)
{
	(void)fd, (void)address, (void)size;
	return 0;
}

static __u32 *index_of(unsigned char *ring, size_t at)
{
	return (__u32 *)(ring + at);
}

/* Writes a frame into a chunk that the daemon has given to the kernel; a chunk is used once until
 * it is given again. */
static void deliver(const uint8_t *frame, size_t size)
{
	const __u32 next = *index_of(vacant, CONSUMER_AT),
		    end = __atomic_load_n(index_of(vacant, 0), __ATOMIC_ACQUIRE);
	const __u64 chunk = ((const __u64 *)(vacant + ENTRIES_AT))[next & (entry_count - 1)];
	const __u32 producer = *index_of(rx, 0);

	check(end - next && end - next <= entry_count,
	      "some chunks are with the kernel, and none twice");
	check(chunk % area.chunk_size == 0 && chunk < area.len, "a vacant address is a chunk");
	*index_of(vacant, CONSUMER_AT) = next + 1;
	/* The kernel reserves some bytes before a frame. */
	memcpy((unsigned char *)(unsigned long)area.addr + chunk + 256, frame, size);
	((struct xdp_desc *)(rx + ENTRIES_AT))[producer & (entry_count - 1)] =
		(struct xdp_desc){ .addr = chunk + 256, .len = (__u32)size };
	__atomic_store_n(index_of(rx, 0), producer + 1, __ATOMIC_RELEASE);
}

/* --- What is answered ------------------------------------------------------------------------- */

/* The request of an answer that is to be sent. */
struct asked {
	unsigned char bytes[FRAME_BYTES_MAX];
	size_t size;
	size_t udp_at;
	size_t answer_size; /* of the payload */
};

static struct asked asked[ENDPOINT_BATCH_MAX];
static size_t asked_count;

static __u16 half(const unsigned char *bytes)
{
	return (__u16)(bytes[0] << 8 | bytes[1]);
}

/* The one's complement sum of RFC 1071, a half word at a time. */
static __u32 add(__u32 sum, const unsigned char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i += 2) {
		sum += (__u32)(bytes[i] << 8) + (i + 1 < size ? bytes[i + 1] : 0);
		sum = (sum & 0xffff) + (sum >> 16);
	}
	return sum;
}

static void check_answer(const struct asked *asked, const unsigned char *bytes, size_t size)
{
	const size_t udp_at = asked->udp_at, address_size = udp_at == 34 ? 4 : 16;
	const unsigned char *udp = bytes + udp_at, *before = asked->bytes + udp_at;
	const __u16 length = half(udp + 4);
	const unsigned char pseudo[2] = { 0, IPPROTO_UDP };

	check(size == udp_at + UDP_SIZE + asked->answer_size &&
		      length == UDP_SIZE + asked->answer_size,
	      "an answer is as long as it says");
	check(!memcmp(bytes, asked->bytes + 6, 6) && !memcmp(bytes + 6, asked->bytes, 6),
	      "it goes back to the sender's hardware address");
	check(!memcmp(udp - 2 * address_size, before - address_size, address_size) &&
		      !memcmp(udp - address_size, before - 2 * address_size, address_size),
	      "it goes back to the sender's address");
	check(!memcmp(udp, before + 2, 2) && !memcmp(udp + 2, before, 2),
	      "it goes back to the sender's port");
	check(!half(before + 6) == !half(udp + 6),
	      "an answer has a checksum if and only if its request has one");
	if (half(udp + 6))
		check(add(add(add(add(0, udp - 2 * address_size, 2 * address_size), pseudo, 2),
			      udp + 4, 2),
			  udp, length) == 0xffff,
		      "an answer's checksum is right");
	if (half(before + 4) != length && udp_at == 34)
		check(add(0, bytes + ETHERNET_SIZE, 20) == 0xffff &&
			      half(bytes + ETHERNET_SIZE + 2) == 20 + length,
		      "and so is that of IPv4");
	if (half(before + 4) != length && udp_at != 34)
		check(half(bytes + ETHERNET_SIZE + 4) == length, "IPv6 says the same length");
}

static void complete(unsigned char *payload, size_t size);

int sendmmsg(int fd, struct mmsghdr *messages, unsigned int count, int flags)
{
	(void)fd, (void)flags;
	check(count == asked_count, "every answer is sent");
	for (unsigned int i = 0; i < count; i++) {
		const struct msghdr *header = &messages[i].msg_hdr;

		check(header->msg_iovlen == 1 && header->msg_iov->iov_len <= FRAME_BYTES_MAX,
		      "an answer is a frame");
		check_answer(&asked[i], header->msg_iov->iov_base, header->msg_iov->iov_len);
		complete((unsigned char *)header->msg_iov->iov_base + asked[i].udp_at + UDP_SIZE,
			 asked[i].answer_size);
	}
	asked_count = 0;
	return (int)count;
}

/* --- The tables ------------------------------------------------------------------------------- */

static bool read_cell(const struct stepwise_tables *tables, unsigned int table, __u32 index,
		      void *element)
{
	const struct stepwise_table *read = &stepwise_protocol.tables[table];

	if (index >= read->capacity)
		return false;
	memcpy(element, (unsigned char *)tables->memory[table] + (size_t)index * read->element_size,
	       read->element_size);
	return true;
}

static void *cell(const struct stepwise_tables *tables, unsigned int table, __u32 index)
{
	const struct stepwise_table *stepped = &stepwise_protocol.tables[table];

	return index < stepped->capacity ? (unsigned char *)tables->memory[table] +
						   (size_t)index * stepped->element_size :
					   NULL;
}

static void *memory[64];
static const struct stepwise_tables tables = { .memory = memory,
					       .read_cell = read_cell,
					       .cell = cell };

/* Clears the tables, so that an input always has the same effect: only this input's packets have
 * filled them. */
static void clear_tables(void)
{
	for (__u32 i = 0; i < stepwise_protocol.table_count; i++) {
		const size_t size = (size_t)stepwise_protocol.tables[i].capacity *
				    stepwise_protocol.tables[i].element_size;

		if (!memory[i])
			memory[i] = mmap(NULL, size, PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (memory[i] == MAP_FAILED || madvise(memory[i], size, MADV_DONTNEED))
			abort();
	}
}

typedef enum stepwise_verdict hook(const struct stepwise_tables *tables,
				   const struct stepwise_environment *environment,
				   unsigned char *payload, size_t *size);

static bool is_message(size_t size)
{
	return size >= stepwise_protocol.wire_size &&
	       size - stepwise_protocol.wire_size <= stepwise_protocol.tail_max;
}

/* Runs a hook on a payload, in a block just as long as a message may be. *size: the payload's
 * bytes, before and after. */
static enum stepwise_verdict run_hook(hook *run, const struct stepwise_environment *environment,
				      unsigned char *payload, size_t *size)
{
	unsigned char *block =
		malloc((size_t)stepwise_protocol.wire_size + stepwise_protocol.tail_max);
	enum stepwise_verdict verdict;

	memcpy(block, payload, *size);
	verdict = run(&tables, environment, block, size);
	check(is_message(*size), "an answer is as long as a message may be");
	memcpy(payload, block, *size);
	free(block);
	return verdict;
}

static const struct stepwise_environment environment = { .now_ns = 1ull << 40,
							 .random = 0x9e3779b97f4a7c15 };

/* Does what TC does with an answer. */
static void complete(unsigned char *payload, size_t size)
{
	if (stepwise_protocol.run_tc)
		run_hook(stepwise_protocol.run_tc, &environment, payload, &size);
}

/* Does what XDP does with a packet that it forwards; returns false if it does not forward it. The
 * frame keeps its length. */
static bool forward(unsigned char *frame)
{
	const size_t payload_at = (half(frame + 12) == 0x0800 ? 34 : 54) + UDP_SIZE,
		     length = half(frame + payload_at - 4) - UDP_SIZE;
	unsigned char payload[ENDPOINT_PAYLOAD_BYTES_MAX];
	size_t size = length;

	if (!is_message(length))
		return true;
	memcpy(payload, frame + payload_at, length);
	if (run_hook(stepwise_protocol.run_xdp, &environment, payload, &size) != STEPWISE_FORWARD ||
	    size != length)
		return false;
	memcpy(frame + payload_at, payload, length);
	return true;
}

/* --- The daemon ------------------------------------------------------------------------------- */

static void answer(struct endpoint *endpoint, size_t index, const unsigned char *whole)
{
	struct endpoint_datagram *datagram = &endpoint->datagrams[index];
	struct asked *before = &asked[asked_count];

	check(datagram->ifindex == IFINDEX, "it arrived where it arrived");
	check(datagram->payload > datagram->frame &&
		      datagram->payload - datagram->frame <= FRAME_HEADERS_BYTES_MAX,
	      "headers are as long as there are");
	check(datagram->size <= ENDPOINT_PAYLOAD_BYTES_MAX,
	      "a payload is no longer than there is room");
	before->udp_at = (size_t)(datagram->payload - datagram->frame) - UDP_SIZE;
	before->size = before->udp_at + UDP_SIZE + datagram->size;
	check(!memcmp(datagram->frame, whole, before->size), "the datagram is the received frame");
	memcpy(before->bytes, whole, before->size);
	if (!is_message(datagram->size) ||
	    run_hook(stepwise_protocol.on_forwarded, &environment, datagram->payload,
		     &datagram->size) != STEPWISE_REPLY)
		return;
	before->answer_size = datagram->size;
	asked_count++;
	endpoint->operations->reply(endpoint, index);
}

static void serve(struct endpoint *endpoint, const unsigned char *const *wholes, size_t count,
		  bool keeps)
{
	static struct endpoint_kept kept[ENDPOINT_BATCH_MAX];
	struct daemon_statistics statistics = {};

	check(endpoint->operations->receive(endpoint, &statistics) == count,
	      "each datagram that is whole is received, and no other");
	for (size_t i = 0; i < count; i++) {
		if (keeps) {
			endpoint->operations->keep(endpoint, i, &kept[i]);
			endpoint->operations->restore(endpoint, i, &kept[i]);
		}
		answer(endpoint, i, wholes[i]);
	}
	endpoint->operations->flush(endpoint, &statistics);
	check(!asked_count, "nothing waits to be sent");
}

/* --- libFuzzer's ------------------------------------------------------------------------------ */

/* Reads a sample of the ring in its own way; returns the frame in it, or NULL if the sample is
 * invalid. */
static unsigned char *plain_frame(unsigned char *sample, size_t size, size_t *frame_size)
{
	struct stepwise_ring_frame head;
	size_t udp_at, length;

	if (size < sizeof(head))
		return NULL;
	memcpy(&head, sample, sizeof(head));
	sample += sizeof(head);
	size -= sizeof(head);
	*frame_size = head.size;
	if (head.ifindex != IFINDEX || head.size > size || head.size < ETHERNET_SIZE ||
	    head.size > FRAME_BYTES_MAX)
		return NULL;
	udp_at = half(sample + 12) == 0x0800 ? 34 : 54;
	if (head.size < udp_at + UDP_SIZE)
		return NULL;
	length = half(sample + udp_at + 4);
	return length >= UDP_SIZE && length <= head.size - udp_at &&
			       length - UDP_SIZE <= ENDPOINT_PAYLOAD_BYTES_MAX ?
		       sample :
		       NULL;
}

/* Copies a piece, because XDP's sections may change it. */
static unsigned char *copied(size_t number, const uint8_t *sample, size_t size)
{
	static unsigned char copies[PIECES_MAX][UINT16_MAX];

	memcpy(copies[number], sample, size);
	return copies[number];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct endpoint *ring, *queue;
	const unsigned char *by_ring[PIECES_MAX], *by_queue[PIECES_MAX];
	size_t ring_count = 0, queue_count = 0;
	bool keeps = false;

	if (!ring) {
		ring = ring_endpoint_open(SENDER_FD, BUFFER_BYTES);
		queue = xsk_endpoint_open(&(struct xsk_queue){ .ifindex = IFINDEX }, SENDER_FD,
					  BUFFER_BYTES);
	}
	if (!ring || !queue)
		abort();
	clear_tables();
	sample_count = samples_taken = asked_count = 0;
	for (size_t at = 0, pieces = 0; pieces < PIECES_MAX && size - at > PIECE_SIZE; pieces++) {
		const size_t wanted = stepwise_get(data + at + 1, 2), left = size - at - PIECE_SIZE,
			     length = wanted < left ? wanted : left;
		unsigned char *sample = copied(pieces, data + at + PIECE_SIZE, length), *frame;
		const uint8_t flags = data[at];
		size_t frame_size = 0;

		at += PIECE_SIZE + length;
		keeps |= flags >> 1 & 1;
		frame = plain_frame(sample, length, &frame_size);
		if (frame && !(flags & 4) && !forward(frame))
			continue;
		if (frame && flags & 1) {
			deliver(frame, frame_size);
			by_queue[queue_count++] = frame;
		} else if (frame || length < sizeof(struct stepwise_ring_frame) ||
			   stepwise_get(sample, 4) == IFINDEX) {
			samples[sample_count] = sample;
			sample_sizes[sample_count++] = length;
			if (frame)
				by_ring[ring_count++] = frame;
		}
	}
	serve(ring, by_ring, ring_count, keeps);
	serve(queue, by_queue, queue_count, keeps);
	serve(queue, NULL, 0, false);
	check(*index_of(vacant, 0) - *index_of(vacant, CONSUMER_AT) == entry_count,
	      "all chunks go back to the kernel, with the next batch");
	return 0;
}

/* After three of four changes, gives samples their interface and size, and most of them lengths
 * that fit. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_max, unsigned int seed)
{
	size = LLVMFuzzerMutate(data, size, size_max);
	for (size_t at = 0; seed % 4 && size - at > PIECE_SIZE;) {
		const size_t wanted = stepwise_get(data + at + 1, 2), left = size - at - PIECE_SIZE,
			     length = wanted < left ? wanted : left;
		uint8_t *sample = data + at + PIECE_SIZE;

		if (length > sizeof(struct stepwise_ring_frame) + 62) {
			uint8_t *frame = sample + sizeof(struct stepwise_ring_frame);
			const size_t frame_size = length - sizeof(struct stepwise_ring_frame),
				     udp_at = seed >> 4 & 1 ? 34 : 54;

			stepwise_put(sample, 4, IFINDEX);
			stepwise_put(sample + 4, 4, frame_size);
			frame[12] = udp_at == 34 ? 0x08 : 0x86;
			frame[13] = udp_at == 34 ? 0x00 : 0xdd;
			if (seed % 4 > 1) {
				frame[udp_at + 4] = (uint8_t)((frame_size - udp_at) >> 8);
				frame[udp_at + 5] = (uint8_t)(frame_size - udp_at);
			}
		}
		at += PIECE_SIZE + length;
	}
	return size;
}
