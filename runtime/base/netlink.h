/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Questions to the kernel by netlink. Generic netlink's attributes look like those of routes. */
#ifndef STEPWISE_NETLINK_H
#define STEPWISE_NETLINK_H

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

/* Sends a request and takes its answer, which is good until the next one. 0 or a negative errno. */
int netlink_ask(int fd, const struct nlmsghdr *request, const struct nlmsghdr **answer);

/*
 * Sends a request for a dump, and calls `take` with each message of it. 0 or a negative errno;
 * -EINTR where something changed meanwhile, so that what came is of no one moment. The socket is of
 * no use after an error.
 */
int netlink_dump(int fd, const struct nlmsghdr *request,
		 void (*take)(void *context, const struct nlmsghdr *message), void *context);

/* The attribute of that type in a list of them; NULL where it is not. */
const struct rtattr *netlink_find(const struct rtattr *list, int bytes, unsigned short type);

/* The same in what an attribute holds; `outer` may be NULL. */
const struct rtattr *netlink_find_nested(const struct rtattr *outer, unsigned short type);

#endif
