/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel.h"

#define ELEMENTS_MAX 256u     /* looked up in one packet's run */
#define ELEMENT_ALIGNMENT 64u /* a cache line: the largest alignment of a cell */
#define PACKET_ALIGNMENT 2u   /* NET_IP_ALIGN: Ethernet's 14 bytes then end at a multiple of 4 */
#define CHECKSUM_MANGLED_0 0xffffu

struct element {
	const void *map;
	__u32 index;
	void *memory;
};

static struct element elements[ELEMENTS_MAX];
static unsigned int element_count;
static bool redirecting, with_socket;
static struct bpf_sock socket_of_map;
static unsigned int sockets_taken; /* taken from maps and not released */
static void *ring_sample;
static unsigned char *entered_key; /* on the heap, whose addresses are the same in each run:
				      libFuzzer remembers compared values */
static size_t entered_size;

static void *allocate(size_t size)
{
	void *memory;

	if (posix_memalign(&memory, ELEMENT_ALIGNMENT, size)) {
		fprintf(stderr, "parsers: allocating %zu bytes for a packet's run: no memory\n",
			size);
		abort();
	}
	return memory;
}

void kernel_begin(bool redirects, bool has_socket)
{
	if (sockets_taken) {
		fprintf(stderr, "parsers: a program has not released a socket\n");
		abort();
	}
	while (element_count)
		free(elements[--element_count].memory);
	free(ring_sample);
	ring_sample = NULL;
	free(entered_key);
	entered_key = NULL;
	redirecting = redirects;
	with_socket = has_socket;
}

void kernel_enter(const void *key, size_t size)
{
	free(entered_key);
	entered_key = memcpy(allocate(size), key, size);
	entered_size = size;
}

const void *kernel_entry(const void *key, size_t size)
{
	return entered_key && size == entered_size && !memcmp(key, entered_key, size) ?
		       entered_key :
		       NULL;
}

unsigned int kernel_element_count(void)
{
	return element_count;
}

const void *kernel_ring_sample(void)
{
	return ring_sample;
}

unsigned char *kernel_packet_new(const unsigned char *bytes, size_t size)
{
	unsigned char *packet =
		(unsigned char *)allocate(PACKET_ALIGNMENT + size) + PACKET_ALIGNMENT;

	if (size)
		memcpy(packet, bytes, size);
	return packet;
}

void kernel_packet_free(unsigned char *packet)
{
	free(packet - PACKET_ALIGNMENT);
}

void kernel_skb_begin(struct __sk_buff *skb, const unsigned char *packet, size_t size,
		      size_t head_size)
{
	*skb = (struct __sk_buff){ .len = (__u32)size, .packet = packet };
	skb->data = (unsigned long)kernel_packet_new(packet, head_size);
	skb->data_end = skb->data + head_size;
}

void kernel_skb_end(struct __sk_buff *skb)
{
	kernel_packet_free((unsigned char *)skb->data);
}

void *kernel_element(const void *map, size_t type, __u32 index, size_t capacity, size_t size)
{
	struct element *element;

	if (index >= capacity)
		return NULL;
	if (type == BPF_MAP_TYPE_SOCKMAP) {
		sockets_taken += with_socket;
		return with_socket ? &socket_of_map : NULL;
	}
	for (element = elements; element < elements + element_count; element++)
		if (element->map == map && element->index == index)
			return element->memory;
	if (element_count == ELEMENTS_MAX) {
		fprintf(stderr, "parsers: a packet's run asks for more than %u elements of maps\n",
			ELEMENTS_MAX);
		abort();
	}
	element_count++;
	*element = (struct element){ map, index, allocate(size) };
	return memset(element->memory, 0, size);
}

long bpf_loop(__u32 count, long (*callback)(__u32 number, void *context), void *context,
	      __u64 flags)
{
	__u32 number = 0;

	(void)flags;
	while (number < count)
		if (callback(number++, context))
			break;
	return number;
}

/* Returns the lower bits of `flags` if the map has no socket or device. */
long bpf_redirect_map(const void *map, __u64 key, __u64 flags)
{
	(void)map;
	(void)key;
	return redirecting ? XDP_REDIRECT : (long)flags;
}

long bpf_xdp_load_bytes(const struct xdp_md *context, __u32 offset, void *bytes, __u32 size)
{
	const size_t available = context->data_end - context->data;

	if (offset > available || size > available - offset)
		return -EINVAL;
	memcpy(bytes, (const unsigned char *)context->data + offset, size);
	return 0;
}

/* Always moves the head, even if it was long enough: a pointer that the program kept is then to
 * freed memory. */
long bpf_skb_pull_data(struct __sk_buff *skb, __u32 size)
{
	size_t head_size = skb->data_end - skb->data;
	unsigned char *head;

	if (size > skb->len || skb->has_no_memory)
		return -ENOMEM;
	if (size > head_size) {
		head = kernel_packet_new(skb->packet, size);
		memcpy(head, (const void *)skb->data, head_size);
		head_size = size;
	} else {
		head = kernel_packet_new((const unsigned char *)skb->data, head_size);
	}
	kernel_packet_free((unsigned char *)skb->data);
	skb->data = (unsigned long)head;
	skb->data_end = skb->data + head_size;
	return 0;
}

/* Does as the kernel's net/core/filter.c: adds `to` to the sum, whose complement the field
 * holds. */
long bpf_l4_csum_replace(struct __sk_buff *skb, __u32 offset, __u64 from, __u64 to, __u64 flags)
{
	const bool zero_is_mangled = flags & BPF_F_MARK_MANGLED_0;
	unsigned char *field = (unsigned char *)skb->data + offset;
	__u16 checksum;
	__u64 sum;

	if (flags & ~(__u64)BPF_F_MARK_MANGLED_0 || from || offset & 1 ||
	    offset + sizeof(checksum) > skb->data_end - skb->data) {
		fprintf(stderr,
			"parsers: bpf_l4_csum_replace() at %u from %llu with flags %#llx: refused, or more than what is here of it\n",
			offset, (unsigned long long)from, (unsigned long long)flags);
		abort();
	}
	memcpy(&checksum, field, sizeof(checksum));
	if (zero_is_mangled && !checksum)
		return 0;
	sum = (__u64)(__u16)~checksum + (__u32)to;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	checksum = (__u16)~sum;
	if (zero_is_mangled && !checksum)
		checksum = CHECKSUM_MANGLED_0;
	memcpy(field, &checksum, sizeof(checksum));
	return 0;
}

__u64 bpf_ringbuf_query(const void *ring, __u64 flags)
{
	(void)ring;
	(void)flags;
	return 0;
}

void *bpf_ringbuf_reserve(const void *ring, __u64 size, __u64 flags)
{
	(void)ring;
	(void)flags;
	return allocate(size);
}

void bpf_ringbuf_submit(void *sample, __u64 flags)
{
	(void)flags;
	free(ring_sample);
	ring_sample = sample;
}

void bpf_ringbuf_discard(void *sample, __u64 flags)
{
	(void)flags;
	free(sample);
}

__u64 bpf_get_socket_cookie(const struct __sk_buff *skb)
{
	return skb->cookie;
}

/* Would return NULL for a socket that is not full, such as one that waits for its end; there are
 * none here. */
struct bpf_sock *bpf_sk_fullsock(struct bpf_sock *socket)
{
	return socket;
}

long bpf_sk_release(struct bpf_sock *socket)
{
	(void)socket;
	sockets_taken--;
	return 0;
}

__u64 bpf_jiffies64(void)
{
	return 0;
}

__u64 bpf_ktime_get_coarse_ns(void)
{
	return 0;
}

__u32 bpf_get_smp_processor_id(void)
{
	return 0;
}
