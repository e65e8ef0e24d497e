/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/log.h"
#include "base/netlink.h"
#include "net/veth.h"

#define HERE (-1)

/* The kernel's description of an interface. */
struct link {
	bool is_veth;
	bool has_xdp;
	__u32 peer;	  /* index of the peer; 0 if there is none */
	__s32 peer_netns; /* the kernel's number of the namespace, or HERE */
	char name[IF_NAMESIZE];
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
	found = netlink_find(list, bytes, IFLA_IFNAME);
	snprintf(link->name, sizeof(link->name), "%s", found ? (const char *)RTA_DATA(found) : "");
	found = netlink_find(list, bytes, IFLA_LINK_NETNSID);
	link->peer_netns = found ? *(const __s32 *)RTA_DATA(found) : HERE;
}

static int ask(int fd, unsigned int ifindex, __s32 netns, struct link *link)
{
	const struct nlmsghdr *answer;
	struct request request = {
		.header = { .nlmsg_type = RTM_GETLINK,
			    .nlmsg_flags = NLM_F_REQUEST,
			    .nlmsg_len = sizeof(request) },
		.interface = { .ifi_family = AF_UNSPEC, .ifi_index = (int)ifindex },
		.netns_header = { .rta_type = IFLA_TARGET_NETNSID,
				  .rta_len = RTA_LENGTH(sizeof(request.netns)) },
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

static void warn_of_program(const char *name, const struct link *link, const struct link *peer,
			    int err)
{
	if (err)
		log_warning(
			"%s is a veth, and its peer cannot be checked (%s): unless the peer has an XDP program too, even one that passes everything, the kernel drops every answer",
			name, strerror(-err));
	else if (!peer->has_xdp)
		log_warning(
			"%s is a veth, and its peer (interface %u%s) has no XDP program: the kernel drops every answer (xdp_tx_errors in `ethtool -S %s`); attach one to the peer: a program that passes everything is enough",
			name, link->peer,
			link->peer_netns == HERE ? "" : " of another network namespace", name);
}

/*
 * Reads a value of an interface of this network namespace from its driver. Returns all ones if the
 * driver does not report it.
 */
static __u32 ask_driver(const char *name, __u32 command)
{
	struct ethtool_value value = { .cmd = command, .data = ~0u };
	struct ifreq request = { .ifr_data = (void *)&value };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	if (fd < 0 || ioctl(fd, SIOCETHTOOL, &request))
		value.data = ~0u;
	if (fd >= 0)
		close(fd);
	return value.data;
}

/*
 * A veth passes on packets whose peer relies on the offloads of a device that is not there: the
 * checksum is partial, and the VLAN tag is not in the frame. The offloads of a peer in another
 * network namespace cannot be queried from here.
 */
static void hint_at_offloads(const char *name, const struct link *link, const struct link *peer)
{
	const bool is_here = link->peer_netns == HERE;
	const char *peer_name = *peer->name ? peer->name : "PEER";
	const char *where = is_here ? "" :
				      " in the peer's network namespace, unless you did so already";

	if (!is_here || ask_driver(peer->name, ETHTOOL_GTXCSUM))
		log_info(
			"hint: a veth's peer leaves checksums to a device, and %s drops packets without them (counted in malformed.checksum): run `ethtool -K %s tx off`%s",
			name, peer_name, where);
	if (!is_here || ask_driver(peer->name, ETHTOOL_GFLAGS) & ETH_FLAG_TXVLAN)
		log_info(
			"hint: a veth's peer sends the tags of VLANs beside the frames, and %s serves these VLANs too: to refuse them, run `ethtool -K %s txvlan off`%s",
			name, peer_name, where);
}

void veth_check_peer(const struct interface *interface)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	struct link link, peer = {};
	int err;

	if (fd < 0)
		return;
	err = ask(fd, interface->ifindex, HERE, &link);
	if (!err && link.is_veth && link.peer) {
		err = ask(fd, link.peer, link.peer_netns, &peer);
		/* In generic mode, an answer is sent like any other packet. */
		if (interface->xdp_mode == XDP_MODE_NATIVE)
			warn_of_program(interface->name, &link, &peer, err);
		hint_at_offloads(interface->name, &link, &peer);
	}
	close(fd);
}
