/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/log.h"
#include "net/forerunner.h"
#include "net/port.h"
#include "state/programs.h"

static int drop_everything(int fd)
{
	struct sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
	const struct sock_fprog program = { .len = 1, .filter = &nothing };

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

static int bind_to_port(int fd, int family, __u16 number)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6,
				    .sin6_port = htons(number),
				    .sin6_addr = IN6ADDR_ANY_INIT };
	struct sockaddr_in four = { .sin_family = AF_INET,
				    .sin_port = htons(number),
				    .sin_addr.s_addr = htonl(INADDR_ANY) };

	return family == AF_INET6 ? bind(fd, (struct sockaddr *)&six, sizeof(six)) :
				    bind(fd, (struct sockaddr *)&four, sizeof(four));
}

static int bind_when_free(int fd, int family, __u16 number)
{
	unsigned int attempts = 0;
	int failed = bind_to_port(fd, family, number);

	while (failed && errno == EADDRINUSE && forerunner_wait(&attempts))
		failed = bind_to_port(fd, family, number);
	return failed;
}

/* Opens the socket of one family. Returns -EAFNOSUPPORT if the system does not have the family. */
static int open_socket(int family, __u16 number)
{
	const char *name = family == AF_INET6 ? "IPv6" : "IPv4";
	const int on = 1;
	int err, fd;

	fd = socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 && errno == EAFNOSUPPORT) {
		log_info("the system has no %s: not serving it", name);
		return -EAFNOSUPPORT;
	}
	/* Set the filter before binding, so that no datagram gets in between. */
	if (fd < 0 || drop_everything(fd) ||
	    (family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on))))
		goto failed;
	if (bind_when_free(fd, family, number) == 0)
		return fd;
	if (errno == EADDRINUSE) {
		log_error(
			"cannot bind UDP port %u (%s): another process has it; `ss -lunp` shows which",
			number, name);
		close(fd);
		return -EADDRINUSE;
	}
failed:
	err = -errno;
	log_error("cannot open a socket on UDP port %u (%s): %s", number, name, strerror(-err));
	if (fd >= 0)
		close(fd);
	return err;
}

int port_hold(struct port *port, __u16 number)
{
	static const int families[PORT_FAMILIES] = { AF_INET, AF_INET6 };

	port->count = 0;
	for (size_t i = 0; i < PORT_FAMILIES; i++) {
		int fd = open_socket(families[i], number);

		if (fd >= 0) {
			port->fds[port->count++] = fd;
		} else if (fd != -EAFNOSUPPORT) {
			port_release(port);
			return fd;
		}
	}
	if (port->count)
		return 0;
	log_error("cannot hold UDP port %u: the system has neither IPv4 nor IPv6", number);
	return -EAFNOSUPPORT;
}

int port_announce(const struct port *port)
{
	return set_pinned_number("stepwise_alive", (__u64)port->fds[0]);
}

__u64 port_strangers(const struct port *port)
{
	__u64 dropped = 0;

	for (size_t i = 0; i < port->count; i++) {
		__u32 information[SK_MEMINFO_VARS] = {};
		socklen_t size = sizeof(information);

		if (getsockopt(port->fds[i], SOL_SOCKET, SO_MEMINFO, information, &size) == 0)
			dropped += information[SK_MEMINFO_DROPS];
	}
	return dropped;
}

void port_release(struct port *port)
{
	for (size_t i = 0; i < port->count; i++)
		close(port->fds[i]);
	port->count = 0;
}
