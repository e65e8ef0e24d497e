/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Preloaded into the daemon, this answers system calls as older kernels do.
 * OLD_KERNEL lists what is to be missing: xdp_link (before 5.9), test_run (before
 * 5.19 a test run takes CAP_BPF), map_lookup (and so does a look at a map), tcx
 * (before 6.6), membarrier, xdp_sockets (not configured), xdp_features (before 6.3 it
 * does not tell what a driver can do), xdp_transmit (it can do nothing). And as a busy
 * one does: free_queue is missing until it was asked for BUSY_BINDS times.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* In libc, but in no header of it. */
extern int capget(cap_user_header_t header, cap_user_data_t data);

#define ATTACH_TYPE_TCX_EGRESS 47
#define BUSY_BINDS 3

static int is_missing(const char *feature)
{
	const char *list = getenv("OLD_KERNEL");

	return list && strstr(list, feature);
}

static int has_cap_bpf(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	return capget(&header, data) == 0 &&
	       data[CAP_TO_INDEX(CAP_BPF)].effective & CAP_TO_MASK(CAP_BPF);
}

static int refusal(int command, const union bpf_attr *attributes)
{
	if (command == BPF_LINK_CREATE &&
	    attributes->link_create.attach_type == ATTACH_TYPE_TCX_EGRESS && is_missing("tcx"))
		return EINVAL;
	if (command == BPF_LINK_CREATE && attributes->link_create.attach_type == BPF_XDP &&
	    is_missing("xdp_link"))
		return EINVAL;
	if (command == BPF_PROG_TEST_RUN && is_missing("test_run") && !has_cap_bpf())
		return EPERM;
	if (command == BPF_MAP_LOOKUP_ELEM && is_missing("map_lookup") && !has_cap_bpf())
		return EPERM;
	if (command == BPF_MAP_CREATE && attributes->map_type == BPF_MAP_TYPE_XSKMAP &&
	    is_missing("xdp_sockets"))
		return EINVAL;
	return 0;
}

int socket(int family, int type, int protocol)
{
	static int (*next)(int, int, int);

	if (!next)
		next = (int (*)(int, int, int))dlsym(RTLD_NEXT, "socket");
	if (family != AF_XDP || !is_missing("xdp_sockets"))
		return next(family, type, protocol);
	errno = EAFNOSUPPORT;
	return -1;
}

int bind(int fd, const struct sockaddr *address, socklen_t size)
{
	static int (*next)(int, const struct sockaddr *, socklen_t);
	static int refused;

	if (!next)
		next = (int (*)(int, const struct sockaddr *, socklen_t))dlsym(RTLD_NEXT, "bind");
	if (address->sa_family != AF_XDP || !is_missing("free_queue") || refused++ >= BUSY_BINDS)
		return next(fd, address, size);
	errno = EBUSY;
	return -1;
}

#define LOOPBACK_INDEX 1 /* it can do nothing */

/* Of generic netlink, a request is changed to one that is answered like that. */
ssize_t send(int fd, const void *bytes, size_t size, int flags)
{
	static ssize_t (*next)(int, const void *, size_t, int);
	char *payload = (char *)bytes + NLMSG_LENGTH(GENL_HDRLEN) + NLA_HDRLEN;
	const struct nlmsghdr *header = bytes;
	int protocol = -1;
	socklen_t protocol_size = sizeof(protocol);

	if (!next)
		next = (ssize_t(*)(int, const void *, size_t, int))dlsym(RTLD_NEXT, "send");
	getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &protocol_size);
	if (protocol == NETLINK_GENERIC && header->nlmsg_type == GENL_ID_CTRL &&
	    is_missing("xdp_features"))
		payload[0] = '?';
	if (protocol == NETLINK_GENERIC && header->nlmsg_type != GENL_ID_CTRL &&
	    is_missing("xdp_transmit"))
		*(int *)payload = LOOPBACK_INDEX;
	return next(fd, bytes, size, flags);
}

long syscall(long number, ...)
{
	static long (*next)(long, ...);
	long arguments[6];
	va_list list;

	if (!next)
		next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	va_start(list, number);
	for (int i = 0; i < 6; i++)
		arguments[i] = va_arg(list, long);
	va_end(list);

	if (number == SYS_bpf) {
		errno = refusal((int)arguments[0], (const union bpf_attr *)arguments[1]);
		if (errno)
			return -1;
	}
	if (number == SYS_membarrier && is_missing("membarrier")) {
		errno = ENOSYS;
		return -1;
	}
	return next(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
		    arguments[5]);
}
