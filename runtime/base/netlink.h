/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Requests to the kernel by netlink. Attributes of generic netlink have the format of route
 * attributes.
 */
#ifndef STEPWISE_NETLINK_H
#define STEPWISE_NETLINK_H

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

/*
 * Sends a request and receives its answer, which is valid until the next request. Returns 0 or a
 * negative errno.
 */
int netlink_ask(int fd, const struct nlmsghdr *request, const struct nlmsghdr **answer);

/*
 * Sends a request for a dump, and calls `take` for each of its messages. Returns 0 or a negative
 * errno. -EINTR means that something changed meanwhile, so that the messages are not a snapshot.
 * The socket cannot be used again after an error.
 */
int netlink_dump(int fd, const struct nlmsghdr *request,
		 void (*take)(void *context, const struct nlmsghdr *message), void *context);

/* Finds the attribute of that type in a list. Returns NULL if there is none. */
const struct rtattr *netlink_find(const struct rtattr *list, int bytes, unsigned short type);

/* Finds the attribute of that type inside another attribute. `outer` may be NULL. */
const struct rtattr *netlink_find_nested(const struct rtattr *outer, unsigned short type);

#endif
