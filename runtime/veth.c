/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <linux/if_link.h>
#include <sys/socket.h>

#include "log.h"
#include "netlink.h"
#include "veth.h"

#define HERE -1

/* What the kernel says of an interface. */
struct link {
	bool is_veth;
	bool has_xdp;
	__u32 peer;  /* its index; 0 where there is none */
	__s32 peer_netns;  /* the kernel's number for it, or HERE */
};

struct request {
	struct nlmsghdr header;
	struct ifinfomsg interface;
	struct rtattr netns_header;
	__s32 netns;
};

static void read_link(const struct nlmsghdr *header, struct link *link)
{
	const struct rtattr *list = IFLA_RTA(NLMSG_DATA(header)), *found;
	int bytes = IFLA_PAYLOAD(header);

	found = netlink_find_nested(netlink_find(list, bytes, IFLA_LINKINFO), IFLA_INFO_KIND);
	link->is_veth = found && !strncmp(RTA_DATA(found), "veth", RTA_PAYLOAD(found));
	found = netlink_find_nested(netlink_find(list, bytes, IFLA_XDP), IFLA_XDP_ATTACHED);
	link->has_xdp = found && *(const __u8 *)RTA_DATA(found) != XDP_ATTACHED_NONE;
	found = netlink_find(list, bytes, IFLA_LINK);
	link->peer = found ? *(const __u32 *)RTA_DATA(found) : 0;
	found = netlink_find(list, bytes, IFLA_LINK_NETNSID);
	link->peer_netns = found ? *(const __s32 *)RTA_DATA(found) : HERE;
}

static int ask(int fd, unsigned int ifindex, __s32 netns, struct link *link)
{
	const struct nlmsghdr *answer;
	struct request request = {
		.header = { .nlmsg_type = RTM_GETLINK, .nlmsg_flags = NLM_F_REQUEST, .nlmsg_len = sizeof(request) },
		.interface = { .ifi_family = AF_UNSPEC, .ifi_index = (int)ifindex },
		.netns_header = { .rta_type = IFLA_TARGET_NETNSID, .rta_len = RTA_LENGTH(sizeof(request.netns)) },
		.netns = netns,
	};
	int err;

	if (netns == HERE)
		request.header.nlmsg_len = NLMSG_LENGTH(sizeof(request.interface));
	err = netlink_ask(fd, &request.header, &answer);
	if (!err)
		read_link(answer, link);
	return err;
}

bool veth_is(unsigned int ifindex)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	struct link link;
	bool found;

	if (fd < 0)
		return false;
	found = ask(fd, ifindex, HERE, &link) == 0 && link.is_veth;
	close(fd);
	return found;
}

void veth_check_peer(const struct interface *interface)
{
	const char *name = interface->name;
	struct link link, peer;
	int err, fd;

	/* In generic mode it is sent like any other packet. */
	if (interface->xdp_mode != XDP_MODE_NATIVE)
		return;
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (fd < 0)
		return;
	err = ask(fd, interface->ifindex, HERE, &link);
	if (!err && link.is_veth && link.peer) {
		err = ask(fd, link.peer, link.peer_netns, &peer);
		if (err)
			log_warning("%s is a veth, and its peer cannot be looked at (%s): unless that has an XDP program too, even one "
				    "that passes everything, the kernel drops every answer",
				    name, strerror(-err));
		else if (!peer.has_xdp)
			log_warning("%s is a veth, and its peer (interface %u%s) has no XDP program: the kernel drops every answer "
				    "(xdp_tx_errors in `ethtool -S %s`) until one is attached there; one that passes everything is enough",
				    name, link.peer, link.peer_netns == HERE ? "" : " of another network namespace", name);
	}
	close(fd);
}
