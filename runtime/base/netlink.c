/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <stddef.h>
#include <sys/socket.h>

#include "base/netlink.h"

#define ANSWER_BYTES_MAX 32768

int netlink_ask(int fd, const struct nlmsghdr *request, const struct nlmsghdr **answer)
{
	static char bytes[ANSWER_BYTES_MAX] __attribute__((aligned(NLMSG_ALIGNTO)));
	const struct nlmsghdr *header = (const void *)bytes;
	ssize_t size;

	if (send(fd, request, request->nlmsg_len, 0) < 0)
		return -errno;
	size = recv(fd, bytes, sizeof(bytes), 0);
	if (size < 0)
		return -errno;
	if (!NLMSG_OK(header, (size_t)size))
		return -EBADMSG;
	if (header->nlmsg_type == NLMSG_ERROR)
		return ((const struct nlmsgerr *)NLMSG_DATA(header))->error ?: -EBADMSG;
	*answer = header;
	return 0;
}

int netlink_dump(int fd, const struct nlmsghdr *request,
		 void (*take)(void *context, const struct nlmsghdr *message), void *context)
{
	static char bytes[ANSWER_BYTES_MAX] __attribute__((aligned(NLMSG_ALIGNTO)));
	int err = 0;

	if (send(fd, request, request->nlmsg_len, 0) < 0)
		return -errno;
	for (;;) {
		const struct nlmsghdr *header = (const void *)bytes;
		ssize_t size = recv(fd, bytes, sizeof(bytes), 0);

		if (size < 0)
			return -errno;
		for (; NLMSG_OK(header, (size_t)size); header = NLMSG_NEXT(header, size)) {
			if (header->nlmsg_flags & NLM_F_DUMP_INTR)
				err = -EINTR;
			if (header->nlmsg_type == NLMSG_ERROR)
				return ((const struct nlmsgerr *)NLMSG_DATA(header))->error ?:
					       -EBADMSG;
			if (header->nlmsg_type == NLMSG_DONE)
				return err;
			take(context, header);
		}
	}
}

const struct rtattr *netlink_find(const struct rtattr *list, int bytes, unsigned short type)
{
	for (; RTA_OK(list, bytes); list = RTA_NEXT(list, bytes))
		if ((list->rta_type & NLA_TYPE_MASK) == type)
			return list;
	return NULL;
}

const struct rtattr *netlink_find_nested(const struct rtattr *outer, unsigned short type)
{
	return outer ? netlink_find(RTA_DATA(outer), RTA_PAYLOAD(outer), type) : NULL;
}
