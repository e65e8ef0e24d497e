/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <linux/genetlink.h>
#include <sys/socket.h>

#include "base/netlink.h"
#include "net/veth.h"
#include "net/xdp_xmit_support.h"

/* From linux/netdev.h, since kernel 6.3. The headers of Debian 12 are from 6.1. */
#define NETDEV_FAMILY "netdev"
#define NETDEV_FAMILY_VERSION 1
#define NETDEV_COMMAND_DEV_GET 1
#define NETDEV_ATTRIBUTE_IFINDEX 1
#define NETDEV_ATTRIBUTE_XDP_FEATURES 3
#define NETDEV_XDP_TRANSMITS 4u

struct request {
	struct nlmsghdr header;
	struct genlmsghdr generic;
	struct rtattr attribute;
	unsigned char value[8];
};

/*
 * Copies the attribute `wanted`, which has `size` bytes, from the answer. Returns 0 or a negative
 * errno.
 */
static int ask(int fd, struct request *request, unsigned short wanted, void *found, size_t size)
{
	const struct nlmsghdr *answer;
	const struct rtattr *attribute;
	int err;

	request->header.nlmsg_flags = NLM_F_REQUEST;
	request->header.nlmsg_len =
		NLMSG_LENGTH(GENL_HDRLEN) + RTA_ALIGN(request->attribute.rta_len);
	err = netlink_ask(fd, &request->header, &answer);
	if (err)
		return err;
	attribute = netlink_find((const void *)((const char *)NLMSG_DATA(answer) + GENL_HDRLEN),
				 (int)answer->nlmsg_len - NLMSG_LENGTH(GENL_HDRLEN), wanted);
	if (!attribute || RTA_PAYLOAD(attribute) < size)
		return -EBADMSG;
	memcpy(found, RTA_DATA(attribute), size);
	return 0;
}

static int ask_family(int fd, __u16 *family)
{
	struct request request = {
		.header.nlmsg_type = GENL_ID_CTRL,
		.generic = { .cmd = CTRL_CMD_GETFAMILY, .version = 1 },
		.attribute = { .rta_type = CTRL_ATTR_FAMILY_NAME,
			       .rta_len = RTA_LENGTH(sizeof(NETDEV_FAMILY)) },
		.value = NETDEV_FAMILY,
	};

	return ask(fd, &request, CTRL_ATTR_FAMILY_ID, family, sizeof(*family));
}

static int ask_features(int fd, __u16 family, __u32 ifindex, __u64 *features)
{
	struct request request = {
		.header.nlmsg_type = family,
		.generic = { .cmd = NETDEV_COMMAND_DEV_GET, .version = NETDEV_FAMILY_VERSION },
		.attribute = { .rta_type = NETDEV_ATTRIBUTE_IFINDEX,
			       .rta_len = RTA_LENGTH(sizeof(ifindex)) },
	};

	memcpy(request.value, &ifindex, sizeof(ifindex));
	return ask(fd, &request, NETDEV_ATTRIBUTE_XDP_FEATURES, features, sizeof(*features));
}

const char *why_not_transmitting(unsigned int ifindex)
{
	__u64 features = 0;
	__u16 family;
	int err, fd;

	/*
	 * A veth lacks the feature while its peer has no XDP program. But in that case it does not
	 * send XDP's answers either.
	 */
	if (veth_is(ifindex))
		return NULL;
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	if (fd < 0)
		return strerror(errno);
	err = ask_family(fd, &family);
	if (!err)
		err = ask_features(fd, family, ifindex, &features);
	close(fd);
	if (err == -ENOENT)
		return "the kernel (before 6.3) does not report if its driver sends redirected packets";
	if (err)
		return strerror(-err);
	return features & NETDEV_XDP_TRANSMITS ?
		       NULL :
		       "its driver does not send packets that XDP redirects";
}
