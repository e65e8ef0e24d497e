/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "log.h"
#include "udp_endpoint.h"

struct udp_datagram {
	struct sockaddr_storage peer;
	struct iovec vector;
	/* Of the packet information that came with it and goes back with the reply. */
	_Alignas(struct cmsghdr) unsigned char control[CMSG_SPACE(sizeof(struct in6_pktinfo))];
	unsigned char payload[ENDPOINT_PAYLOAD_BYTES_MAX];
};

struct udp_endpoint {
	struct endpoint endpoint;  /* first: what the operations get */
	struct mmsghdr headers[ENDPOINT_BATCH_MAX];
	struct udp_datagram datagrams[ENDPOINT_BATCH_MAX];
	struct mmsghdr replies[ENDPOINT_BATCH_MAX];
	size_t reply_count;
};

static int set_option(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof(value));
}

static int bind_to_port(int fd, int family, __u16 port)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_ANY_INIT };
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_ANY) };

	return family == AF_INET6 ? bind(fd, (struct sockaddr *)&six, sizeof(six)) :
				    bind(fd, (struct sockaddr *)&four, sizeof(four));
}

/* One socket a family: the addresses of the other in mapped form would need translating both ways. */
static int open_socket(int family, __u16 port, __u32 buffer_bytes, bool *unsupported)
{
	const char *name = family == AF_INET6 ? "IPv6" : "IPv4";
	int err, fd;

	fd = socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 && errno == EAFNOSUPPORT) {
		*unsupported = true;
		log_info("the system has no %s: not serving it", name);
		return -EAFNOSUPPORT;
	}
	if (fd < 0)
		goto failed;
	if (set_option(fd, SOL_SOCKET, SO_RCVBUFFORCE, buffer_bytes))
		set_option(fd, SOL_SOCKET, SO_RCVBUF, buffer_bytes);
	/* And a reply that does not fit is refused here: TC takes a fragment for somebody else's, and completes nothing. */
	if (family == AF_INET6 ? set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1) ||
					 set_option(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1) ||
					 set_option(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE) :
				 set_option(fd, IPPROTO_IP, IP_PKTINFO, 1) ||
					 set_option(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE))
		goto failed;
	if (bind_to_port(fd, family, port) == 0)
		return fd;
	if (errno == EADDRINUSE) {
		log_error("cannot bind UDP port %u (%s): another process has it; `ss -lunp` shows which", port, name);
		close(fd);
		return -EADDRINUSE;
	}
failed:
	err = -errno;
	log_error("cannot open a socket on UDP port %u (%s): %s", port, name, strerror(-err));
	if (fd >= 0)
		close(fd);
	return err;
}

/*
 * Makes the packet information that came into what the reply is to leave with:
 * the address asked as the source, and the interface it came by as the way out,
 * since only there the protocol's TC program completes the reply.
 */
static unsigned int turn_packet_information(struct msghdr *header)
{
	struct cmsghdr *control = CMSG_FIRSTHDR(header);

	if (!control)
		return 0;
	if (control->cmsg_level == IPPROTO_IP && control->cmsg_type == IP_PKTINFO) {
		struct in_pktinfo information;

		memcpy(&information, CMSG_DATA(control), sizeof(information));
		information.ipi_spec_dst = information.ipi_addr;
		memcpy(CMSG_DATA(control), &information, sizeof(information));
		return information.ipi_ifindex;
	}
	if (control->cmsg_level == IPPROTO_IPV6 && control->cmsg_type == IPV6_PKTINFO) {
		struct in6_pktinfo information;

		memcpy(&information, CMSG_DATA(control), sizeof(information));
		return information.ipi6_ifindex;
	}
	return 0;
}

static size_t receive(struct endpoint *endpoint, struct daemon_statistics *statistics)
{
	struct udp_endpoint *udp = (struct udp_endpoint *)endpoint;
	int count;

	for (size_t i = 0; i < ENDPOINT_BATCH_MAX; i++) {
		struct udp_datagram *datagram = &udp->datagrams[i];

		datagram->vector = (struct iovec){ datagram->payload, sizeof(datagram->payload) };
		udp->headers[i].msg_hdr = (struct msghdr){
			.msg_name = &datagram->peer,
			.msg_namelen = sizeof(datagram->peer),
			.msg_iov = &datagram->vector,
			.msg_iovlen = 1,
			.msg_control = datagram->control,
			.msg_controllen = sizeof(datagram->control),
		};
	}
	count = recvmmsg(endpoint->fd, udp->headers, ENDPOINT_BATCH_MAX, MSG_DONTWAIT, NULL);
	if (count < 0) {
		if (errno != EAGAIN && errno != EINTR) {
			statistics->receive_failed++;
			log_debug("receive: %s", strerror(errno));
		}
		return 0;
	}
	statistics->received_by_udp += count;
	for (int i = 0; i < count; i++)
		endpoint->datagrams[i] = (struct endpoint_datagram){
			.payload = udp->datagrams[i].payload,
			.size = udp->headers[i].msg_len,
			.ifindex = turn_packet_information(&udp->headers[i].msg_hdr),
		};
	return count;
}

static void reply(struct endpoint *endpoint, size_t index)
{
	struct udp_endpoint *udp = (struct udp_endpoint *)endpoint;
	struct mmsghdr *header = &udp->replies[udp->reply_count++];

	udp->datagrams[index].vector.iov_len = endpoint->datagrams[index].size;
	*header = udp->headers[index];
	header->msg_hdr.msg_flags = 0;
}

static void flush(struct endpoint *endpoint, struct daemon_statistics *statistics)
{
	struct udp_endpoint *udp = (struct udp_endpoint *)endpoint;

	for (size_t next = 0; next < udp->reply_count;) {
		int sent = sendmmsg(endpoint->fd, udp->replies + next, udp->reply_count - next, MSG_DONTWAIT);

		if (sent > 0) {
			statistics->replied += sent;
			next += sent;
		} else if (errno != EINTR) {
			/* No room, no route: its client will ask again. */
			statistics->send_failed++;
			log_debug("send: %s", strerror(errno));
			next++;
		}
	}
	udp->reply_count = 0;
}

/* How a reply finds its way, and the payload. */
struct udp_kept {
	struct sockaddr_storage peer;
	socklen_t peer_size;
	size_t control_size;
	_Alignas(struct cmsghdr) unsigned char control[CMSG_SPACE(sizeof(struct in6_pktinfo))];
	unsigned char payload[ENDPOINT_PAYLOAD_BYTES_MAX];
};

_Static_assert(sizeof(struct udp_kept) <= sizeof(((struct endpoint_kept *)0)->bytes), "room for what is kept");

static void keep(const struct endpoint *endpoint, size_t index, struct endpoint_kept *kept)
{
	const struct udp_endpoint *udp = (const struct udp_endpoint *)endpoint;
	const struct udp_datagram *datagram = &udp->datagrams[index];
	const struct msghdr *header = &udp->headers[index].msg_hdr;
	struct udp_kept *to = (struct udp_kept *)kept->bytes;

	kept->size = endpoint->datagrams[index].size;
	kept->ifindex = endpoint->datagrams[index].ifindex;
	to->peer = datagram->peer;
	to->peer_size = header->msg_namelen;
	to->control_size = header->msg_controllen;
	memcpy(to->control, datagram->control, sizeof(to->control));
	memcpy(to->payload, datagram->payload, kept->size);
}

static void restore(struct endpoint *endpoint, size_t index, struct endpoint_kept *kept)
{
	struct udp_endpoint *udp = (struct udp_endpoint *)endpoint;
	struct udp_datagram *datagram = &udp->datagrams[index];
	const struct udp_kept *from = (const struct udp_kept *)kept->bytes;

	datagram->peer = from->peer;
	memcpy(datagram->control, from->control, sizeof(datagram->control));
	memcpy(datagram->payload, from->payload, kept->size);
	datagram->vector = (struct iovec){ datagram->payload, kept->size };
	udp->headers[index].msg_hdr = (struct msghdr){
		.msg_name = &datagram->peer,
		.msg_namelen = from->peer_size,
		.msg_iov = &datagram->vector,
		.msg_iovlen = 1,
		.msg_control = datagram->control,
		.msg_controllen = from->control_size,
	};
	endpoint->datagrams[index] = (struct endpoint_datagram){ .payload = datagram->payload, .size = kept->size, .ifindex = kept->ifindex };
}

static __u64 overflowed(const struct endpoint *endpoint)
{
	__u32 information[SK_MEMINFO_VARS] = {};
	socklen_t size = sizeof(information);

	if (getsockopt(endpoint->fd, SOL_SOCKET, SO_MEMINFO, information, &size))
		return 0;
	return information[SK_MEMINFO_DROPS];
}

static void close_endpoint(struct endpoint *endpoint)
{
	close(endpoint->fd);
	free(endpoint);
}

static const struct endpoint_operations operations = {
	.receive = receive,
	.reply = reply,
	.flush = flush,
	.keep = keep,
	.restore = restore,
	.overflowed = overflowed,
	.close = close_endpoint,
};

struct endpoint *udp_endpoint_open(int family, __u16 port, __u32 buffer_bytes, bool *unsupported)
{
	struct udp_endpoint *udp;
	int fd;

	*unsupported = false;
	fd = open_socket(family, port, buffer_bytes, unsupported);
	if (fd < 0)
		return NULL;
	udp = calloc(1, sizeof(*udp));
	if (!udp) {
		log_error("cannot open an endpoint: %s", strerror(ENOMEM));
		close(fd);
		return NULL;
	}
	udp->endpoint.fd = fd;
	udp->endpoint.operations = &operations;
	return &udp->endpoint;
}
