/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <linux/if_addr.h>
#include <linux/if_ether.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <bpf/bpf.h>

#include "base/log.h"
#include "base/netlink.h"
#include "net/addresses.h"
#include "state/daemon_claim.h"
#include "state/pins.h"
#include "state/programs.h"
#include "stepwise_addresses.h"

#define IPV6_BYTES 16
#define DUMP_ATTEMPTS 10
#define DUMP_PAUSE_US 1000

struct addresses {
	int map_fd;
	int watch_fd;
	struct stepwise_address_slots *slots;
	bool warned; /* it was reported that there are too many */
	bool stale;  /* the programs do not know of a change yet */
};

/* The addresses that the kernel lists, in the order of its interfaces. */
struct list {
	struct stepwise_address items[STEPWISE_ADDRESSES_MAX];
	size_t count;
	size_t beyond; /* addresses that found no room */
};

static bool is_in(const struct list *list, const struct stepwise_address *address)
{
	for (size_t i = 0; i < list->count; i++)
		if (!memcmp(&list->items[i], address, sizeof(*address)))
			return true;
	return false;
}

static void add(struct list *list, const struct stepwise_address *address)
{
	if (is_in(list, address))
		return;
	if (list->count < STEPWISE_ADDRESSES_MAX)
		list->items[list->count++] = *address;
	else
		list->beyond++;
}

/*
 * Reads an address into `address`. Returns false if other hosts cannot send packets to it: it is a
 * loopback address, or the kernel does not receive packets to it, because it still checks for
 * duplicates on the link or has found one.
 */
static bool read_address(const struct nlmsghdr *header, struct stepwise_address *address)
{
	const struct ifaddrmsg *message = NLMSG_DATA(header);
	const struct rtattr *list = IFA_RTA(message), *found, *flags;
	const int bytes = IFA_PAYLOAD(header);
	const struct in6_addr *six;
	__u32 bits;

	memset(address, 0, sizeof(*address));
	/* On a point-to-point link, IFA_ADDRESS is the peer's. */
	found = netlink_find(list, bytes, IFA_LOCAL) ?: netlink_find(list, bytes, IFA_ADDRESS);
	if (!found)
		return false;
	if (message->ifa_family == AF_INET && RTA_PAYLOAD(found) == sizeof(struct in_addr)) {
		address->ethertype = htons(ETH_P_IP);
		memcpy(address->words, RTA_DATA(found), sizeof(struct in_addr));
		return *(const __u8 *)RTA_DATA(found) != IN_LOOPBACKNET;
	}
	if (message->ifa_family != AF_INET6 || RTA_PAYLOAD(found) != IPV6_BYTES)
		return false;
	six = RTA_DATA(found);
	flags = netlink_find(list, bytes, IFA_FLAGS);
	bits = flags ? *(const __u32 *)RTA_DATA(flags) : message->ifa_flags;
	address->ethertype = htons(ETH_P_IPV6);
	address->ifindex = IN6_IS_ADDR_LINKLOCAL(six) ? message->ifa_index : 0;
	memcpy(address->words, six, IPV6_BYTES);
	return !IN6_IS_ADDR_LOOPBACK(six) && !(bits & IFA_F_DADFAILED) &&
	       (!(bits & IFA_F_TENTATIVE) || bits & IFA_F_OPTIMISTIC);
}

static void take(void *context, const struct nlmsghdr *header)
{
	struct stepwise_address address;

	if (header->nlmsg_type == RTM_NEWADDR && read_address(header, &address))
		add(context, &address);
}

/* Lists all addresses as at one moment: repeats a dump during which they changed. */
static int list_addresses(struct list *list)
{
	const struct {
		struct nlmsghdr header;
		struct ifaddrmsg message;
	} request = {
		.header = { .nlmsg_type = RTM_GETADDR,
			    .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
			    .nlmsg_len = sizeof(request) },
		.message = { .ifa_family = AF_UNSPEC },
	};
	int err = -EINTR;

	for (int attempt = 0; attempt < DUMP_ATTEMPTS && err == -EINTR; attempt++) {
		int fd;

		if (attempt)
			usleep(DUMP_PAUSE_US);
		fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

		list->count = list->beyond = 0;
		err = fd < 0 ? -errno : netlink_dump(fd, &request.header, take, list);
		if (fd >= 0)
			close(fd);
	}
	return err;
}

/* --- What the programs read ------------------------------------------------------------------- */

static size_t slot_of(const struct stepwise_address *address, size_t bytes)
{
	return ((const __u8 *)address->words)[bytes - 1] % STEPWISE_ADDRESS_SLOTS;
}

/*
 * If two addresses share a slot, the first one gets it: addresses of physical ports are listed
 * before those of bridges and tunnels.
 */
static void fill_slots(const struct list *list, struct stepwise_address_slots *slots)
{
	struct stepwise_address_slots filled = { .filled = 1 };

	for (size_t i = 0; i < STEPWISE_ADDRESS_SLOTS; i++) {
		/* An address of the next slot, so that nothing is equal to an empty slot. */
		((__u8 *)&filled.ipv4[i])[sizeof(filled.ipv4[i]) - 1] = i + 1;
		((__u8 *)&filled.ipv6[i])[IPV6_BYTES - 1] = i + 1;
	}
	for (size_t i = list->count; i-- > 0;) {
		const struct stepwise_address *address = &list->items[i];

		if (address->ethertype == htons(ETH_P_IP))
			filled.ipv4[slot_of(address, sizeof(struct in_addr))] = address->words[0];
		else if (!address->ifindex)
			memcpy(filled.ipv6[slot_of(address, IPV6_BYTES)], address->words,
			       IPV6_BYTES);
	}
	/* Store word by word, because programs read the slots meanwhile. */
	for (size_t i = 0; i < STEPWISE_ADDRESS_SLOTS; i++) {
		__atomic_store_n(&slots->ipv4[i], filled.ipv4[i], __ATOMIC_RELAXED);
		__atomic_store_n(&slots->ipv6[i][0], filled.ipv6[i][0], __ATOMIC_RELAXED);
		__atomic_store_n(&slots->ipv6[i][1], filled.ipv6[i][1], __ATOMIC_RELAXED);
	}
	__atomic_store_n(&slots->filled, 1, __ATOMIC_RELEASE);
}

/* Removes the addresses that are not in the list. */
static int remove_others(int map_fd, const struct list *list)
{
	struct stepwise_address key, next;
	int err = bpf_map_get_next_key(map_fd, NULL, &next);

	while (!err) {
		key = next;
		err = bpf_map_get_next_key(map_fd, &key, &next);
		if (!is_in(list, &key) && bpf_map_delete_elem(map_fd, &key) && errno != ENOENT)
			return -errno;
	}
	return err == -ENOENT ? 0 : err;
}

static int fill(struct addresses *addresses)
{
	static struct list list;
	const __u32 present = 1;
	int err = list_addresses(&list);

	if (!err)
		fill_slots(&list, addresses->slots);
	/* Remove first, to make room. */
	if (!err)
		err = remove_others(addresses->map_fd, &list);
	for (size_t i = 0; !err && i < list.count; i++)
		err = bpf_map_update_elem(addresses->map_fd, &list.items[i], &present, BPF_ANY);
	if (err) {
		log_error(
			"cannot update the addresses of this host for the programs: %s; packets to a new address may not be served, and packets to a removed one may be",
			strerror(-err));
		return err;
	}
	if (list.beyond && !addresses->warned)
		log_warning(
			"this host has %zu addresses, but only packets to the first %u are served; `promiscuous: true` in the layout would serve all",
			list.count + list.beyond, STEPWISE_ADDRESSES_MAX);
	addresses->warned = list.beyond;
	return 0;
}

/* --- Who enters them -------------------------------------------------------------------------- */

static int open_pin(const char *directory, const char *name)
{
	char path[PATH_MAX];
	int fd = pins_path(path, "%s/%s", directory, name);

	if (fd)
		return fd;
	fd = bpf_obj_get(path);
	if (fd < 0)
		log_error(
			"cannot open the pinned map %s: %s; run this as root, or unload every interface, purge and load again",
			path, strerror(-fd));
	return fd;
}

static int open_maps(struct addresses *addresses, const char *directory)
{
	int slots_fd;
	void *memory;
	int err;

	addresses->map_fd = open_pin(directory, ADDRESSES_MAP);
	if (addresses->map_fd < 0)
		return addresses->map_fd;
	slots_fd = open_pin(directory, ADDRESS_SLOTS_PIN);
	if (slots_fd < 0)
		return slots_fd;
	memory = mmap(NULL, sizeof(*addresses->slots), PROT_READ | PROT_WRITE, MAP_SHARED, slots_fd,
		      0);
	err = memory == MAP_FAILED ? -errno : 0;
	close(slots_fd);
	if (!err)
		addresses->slots = memory;
	else
		log_error("cannot map the pinned map %s: %s", ADDRESS_SLOTS_PIN, strerror(-err));
	return err;
}

static void close_maps(struct addresses *addresses)
{
	if (addresses->slots)
		munmap(addresses->slots, sizeof(*addresses->slots));
	if (addresses->map_fd >= 0)
		close(addresses->map_fd);
}

int addresses_enter(const struct stepwise_protocol *protocol)
{
	struct addresses addresses = { .map_fd = -1, .watch_fd = -1 };
	char staged[PATH_MAX];
	bool fresh;
	int err;

	if (!protocol->compares_addresses)
		return 0;
	err = pins_path(staged, "staging/build");
	if (err)
		return err;
	fresh = pins_exist(staged);
	if (!fresh && daemon_running(protocol, NULL))
		return 0;
	err = open_maps(&addresses, fresh ? "staging/build" : "build");
	if (!err)
		err = fill(&addresses);
	close_maps(&addresses);
	return err;
}

static int watch_open(void)
{
	const struct sockaddr_nl groups = { .nl_family = AF_NETLINK,
					    .nl_groups = RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE);
	int err;

	if (fd >= 0 && bind(fd, (const struct sockaddr *)&groups, sizeof(groups)) == 0)
		return fd;
	err = -errno;
	log_error("cannot watch the addresses of this host: %s", strerror(-err));
	if (fd >= 0)
		close(fd);
	return err;
}

struct addresses *addresses_open(void)
{
	struct addresses *addresses = calloc(1, sizeof(*addresses));

	if (!addresses)
		return NULL;
	addresses->map_fd = -1;
	/* Watch first, so that a change during the entering is seen afterwards. */
	addresses->watch_fd = watch_open();
	if (addresses->watch_fd >= 0 && !open_maps(addresses, "build") && !fill(addresses))
		return addresses;
	addresses_close(addresses);
	return NULL;
}

void addresses_close(struct addresses *addresses)
{
	if (!addresses)
		return;
	close_maps(addresses);
	if (addresses->watch_fd >= 0)
		close(addresses->watch_fd);
	free(addresses);
}

int addresses_fd(const struct addresses *addresses)
{
	return addresses->watch_fd;
}

/* A message only shows that something changed. Some are lost if many come (ENOBUFS). */
void addresses_follow(struct addresses *addresses)
{
	char bytes[8192];

	while (recv(addresses->watch_fd, bytes, sizeof(bytes), 0) >= 0 || errno == ENOBUFS ||
	       errno == EINTR)
		;
	addresses->stale = fill(addresses);
}

void addresses_again(struct addresses *addresses)
{
	if (addresses->stale)
		addresses->stale = fill(addresses);
}

bool addresses_may_run(const struct addresses *addresses)
{
	struct stepwise_address first;

	return bpf_map_get_next_key(addresses->map_fd, NULL, &first) == 0 || errno == ENOENT;
}
