/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>

#include "base/log.h"
#include "net/frame_reply.h"

_Static_assert(FRAME_HEADERS_BYTES_MAX ==
		       sizeof(struct ethhdr) + sizeof(struct ipv6hdr) + sizeof(struct udphdr),
	       "");

/*
 * XDP has checked the frame: Ethernet, then IPv4 without options or IPv6, then UDP, with correct
 * lengths.
 */
static size_t udp_offset(const unsigned char *bytes)
{
	const struct ethhdr *ethernet = (const struct ethhdr *)bytes;

	return sizeof(*ethernet) + (ethernet->h_proto == htons(ETH_P_IP) ? sizeof(struct iphdr) :
									   sizeof(struct ipv6hdr));
}

bool frame_is_whole(const unsigned char *frame, size_t size)
{
	const struct udphdr *udp;
	size_t offset;

	if (size < sizeof(struct ethhdr) || size > FRAME_BYTES_MAX)
		return false;
	offset = udp_offset(frame);
	if (size < offset + sizeof(*udp))
		return false;
	udp = (const struct udphdr *)(frame + offset);
	return ntohs(udp->len) >= sizeof(*udp) && ntohs(udp->len) <= size - offset &&
	       ntohs(udp->len) - sizeof(*udp) <= ENDPOINT_PAYLOAD_BYTES_MAX;
}

struct in6_addr frame_source(const unsigned char *frame)
{
	const struct ethhdr *ethernet = (const struct ethhdr *)frame;
	const unsigned char *header = frame + sizeof(*ethernet);
	struct in6_addr source = { .s6_addr = { [10] = 0xff, [11] = 0xff } };

	if (ethernet->h_proto == htons(ETH_P_IP))
		memcpy(source.s6_addr + 12, header + offsetof(struct iphdr, saddr),
		       sizeof(struct in_addr));
	else
		memcpy(&source, header + offsetof(struct ipv6hdr, saddr), sizeof(source));
	return source;
}

struct endpoint_datagram frame_datagram(unsigned char *frame, unsigned int ifindex)
{
	struct udphdr *udp = (struct udphdr *)(frame + udp_offset(frame));

	return (struct endpoint_datagram){
		.payload = (unsigned char *)(udp + 1),
		.size = ntohs(udp->len) - sizeof(*udp),
		.ifindex = ifindex,
		.frame = frame,
	};
}

static void exchange(void *one, void *other, size_t size)
{
	unsigned char part[sizeof(struct in6_addr)];

	memcpy(part, one, size);
	memcpy(one, other, size);
	memcpy(other, part, size);
}

/* Returns the one's complement sum, not folded. */
static __u64 sum_bytes(const unsigned char *bytes, size_t size)
{
	__u64 sum = 0;
	__u32 part;
	size_t at = 0;

	for (; at + sizeof(part) <= size; at += sizeof(part)) {
		memcpy(&part, bytes + at, sizeof(part));
		sum += part;
	}
	part = 0;
	memcpy(&part, bytes + at, size - at);
	return sum + part;
}

static __u16 fold(__u64 sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/*
 * Computes the checksum. A missing one stays missing, as IPv4 allows. Both addresses are directly
 * before the UDP header.
 */
static void fill_checksum(struct udphdr *udp, size_t addresses_bytes)
{
	const size_t size = ntohs(udp->len);
	__u16 sum;

	if (!udp->check)
		return;
	udp->check = 0;
	sum = fold(sum_bytes((unsigned char *)udp - addresses_bytes, addresses_bytes + size) +
		   htons(IPPROTO_UDP) + udp->len);
	udp->check = sum == 0xffff ? 0xffff : ~sum;
}

static __be16 *half_word(unsigned char *bytes, size_t offset)
{
	return (__be16 *)(bytes + offset);
}

/*
 * Updates the lengths of UDP and IP, because the reply may be longer or shorter than the request.
 */
static void set_size(unsigned char *bytes, struct udphdr *udp, size_t payload_bytes)
{
	const __be16 length = htons(sizeof(*udp) + payload_bytes);
	unsigned char *header = bytes + sizeof(struct ethhdr);

	if (udp->len == length)
		return;
	udp->len = length;
	if ((unsigned char *)udp == header + sizeof(struct ipv6hdr)) {
		*half_word(header, offsetof(struct ipv6hdr, payload_len)) = length;
		return;
	}
	*half_word(header, offsetof(struct iphdr, tot_len)) =
		htons(sizeof(struct iphdr) + sizeof(*udp) + payload_bytes);
	*half_word(header, offsetof(struct iphdr, check)) = 0;
	*half_word(header, offsetof(struct iphdr, check)) =
		~fold(sum_bytes(header, sizeof(struct iphdr)));
}

/*
 * Exchanges sender and receiver, like the replies of XDP. Returns the size of the frame without
 * padding.
 */
static size_t turn_round(unsigned char *bytes, size_t payload_bytes)
{
	struct ethhdr *ethernet = (struct ethhdr *)bytes;
	struct udphdr *udp = (struct udphdr *)(bytes + udp_offset(bytes));
	const size_t address_bytes = ethernet->h_proto == htons(ETH_P_IP) ? sizeof(struct in_addr) :
									    sizeof(struct in6_addr);

	exchange(ethernet->h_dest, ethernet->h_source, ETH_ALEN);
	exchange((unsigned char *)udp - 2 * address_bytes, (unsigned char *)udp - address_bytes,
		 address_bytes);
	exchange(&udp->source, &udp->dest, sizeof(udp->source));
	set_size(bytes, udp, payload_bytes);
	fill_checksum(udp, 2 * address_bytes);
	return (unsigned char *)udp - bytes + ntohs(udp->len);
}

int frame_sender_open(void)
{
	/*
	 * Protocol 0, so it receives nothing. Not bound to an interface: each reply names its own.
	 */
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	return fd < 0 ? -errno : fd;
}

static struct frame_replies *replies_of(struct endpoint *endpoint)
{
	return &((struct frame_endpoint *)endpoint)->replies;
}

void frame_reply(struct endpoint *endpoint, size_t index)
{
	const struct endpoint_datagram *reply = &endpoint->datagrams[index];
	struct frame_replies *replies = replies_of(endpoint);
	struct iovec *vector = &replies->vectors[replies->count];
	struct sockaddr_ll *way = &replies->ways[replies->count];

	*vector = (struct iovec){ reply->frame, turn_round(reply->frame, reply->size) };
	*way = (struct sockaddr_ll){ .sll_family = AF_PACKET, .sll_ifindex = (int)reply->ifindex };
	replies->messages[replies->count++].msg_hdr = (struct msghdr){
		.msg_name = way,
		.msg_namelen = sizeof(*way),
		.msg_iov = vector,
		.msg_iovlen = 1,
	};
}

void frame_flush(struct endpoint *endpoint, struct daemon_statistics *statistics)
{
	struct frame_replies *replies = replies_of(endpoint);

	for (size_t next = 0; next < replies->count;) {
		int sent = sendmmsg(replies->fd, replies->messages + next, replies->count - next,
				    MSG_DONTWAIT);

		if (sent > 0) {
			statistics->replied += sent;
			next += sent;
		} else if (errno == ENOBUFS) {
			/*
			 * TC drops end like this, and TC has counted them. A UDP socket does not
			 * report them.
			 */
			statistics->replied++;
			next++;
		} else if (errno != EINTR) {
			statistics->send_failed++;
			log_debug("send: %s", strerror(errno));
			next++;
		}
	}
	replies->count = 0;
}

void frame_keep(const struct endpoint *endpoint, size_t index, struct endpoint_kept *kept)
{
	const struct endpoint_datagram *datagram = &endpoint->datagrams[index];

	kept->size = datagram->size;
	kept->ifindex = datagram->ifindex;
	memcpy(kept->bytes, datagram->frame, datagram->payload - datagram->frame + datagram->size);
}

void frame_restore(struct endpoint *endpoint, size_t index, struct endpoint_kept *kept)
{
	endpoint->datagrams[index] = frame_datagram(kept->bytes, kept->ifindex);
}
