/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>

#include "endpoint.h"
#include "log.h"

#define RECEIVE_BUFFER_BYTES (4 << 20)

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
static int open_socket(int family, __u16 port, bool *unsupported)
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
	if (set_option(fd, SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BUFFER_BYTES))
		set_option(fd, SOL_SOCKET, SO_RCVBUF, RECEIVE_BUFFER_BYTES);
	if (family == AF_INET6 ? set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1) ||
					 set_option(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1) :
				 set_option(fd, IPPROTO_IP, IP_PKTINFO, 1))
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

struct endpoint *endpoint_open(int family, __u16 port, bool *unsupported)
{
	struct endpoint *endpoint;
	int fd;

	*unsupported = false;
	fd = open_socket(family, port, unsupported);
	if (fd < 0)
		return NULL;
	endpoint = calloc(1, sizeof(*endpoint));
	if (!endpoint) {
		log_error("cannot open an endpoint: %s", strerror(ENOMEM));
		close(fd);
		return NULL;
	}
	endpoint->fd = fd;
	endpoint->family = family;
	return endpoint;
}

void endpoint_close(struct endpoint *endpoint)
{
	if (!endpoint)
		return;
	close(endpoint->fd);
	free(endpoint);
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

size_t endpoint_receive(struct endpoint *endpoint, struct daemon_statistics *statistics)
{
	int count;

	for (size_t i = 0; i < ENDPOINT_BATCH_MAX; i++) {
		struct endpoint_datagram *datagram = &endpoint->datagrams[i];

		datagram->vector = (struct iovec){ datagram->payload, sizeof(datagram->payload) };
		endpoint->headers[i].msg_hdr = (struct msghdr){
			.msg_name = &datagram->peer,
			.msg_namelen = sizeof(datagram->peer),
			.msg_iov = &datagram->vector,
			.msg_iovlen = 1,
			.msg_control = datagram->control,
			.msg_controllen = sizeof(datagram->control),
		};
	}
	count = recvmmsg(endpoint->fd, endpoint->headers, ENDPOINT_BATCH_MAX, MSG_DONTWAIT, NULL);
	if (count < 0) {
		if (errno != EAGAIN && errno != EINTR) {
			statistics->receive_failed++;
			log_debug("receive: %s", strerror(errno));
		}
		return 0;
	}
	statistics->received += count;
	for (int i = 0; i < count; i++)
		endpoint->datagrams[i].ifindex = turn_packet_information(&endpoint->headers[i].msg_hdr);
	return count;
}

void endpoint_reply(struct endpoint *endpoint, size_t index, size_t size)
{
	struct mmsghdr *reply = &endpoint->replies[endpoint->reply_count++];

	endpoint->datagrams[index].vector.iov_len = size;
	*reply = endpoint->headers[index];
	reply->msg_hdr.msg_flags = 0;
}

void endpoint_flush(struct endpoint *endpoint, struct daemon_statistics *statistics)
{
	for (size_t next = 0; next < endpoint->reply_count;) {
		int sent = sendmmsg(endpoint->fd, endpoint->replies + next, endpoint->reply_count - next, MSG_DONTWAIT);

		if (sent > 0) {
			statistics->replied += sent;
			next += sent;
		} else if (errno != EINTR) {
			/* No room, no route, dropped on the way out: its client will ask again. */
			statistics->send_failed++;
			log_debug("send: %s", strerror(errno));
			next++;
		}
	}
	endpoint->reply_count = 0;
}
