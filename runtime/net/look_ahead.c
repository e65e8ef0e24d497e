/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <net/if.h>

#include "base/log.h"
#include "net/look_ahead.h"
#include "net/xdp_xmit_support.h"
#include "state/pins.h"
#include "state/programs.h"

#define DEVICES_MAP "stepwise_devices"

/* Removes what an earlier daemon entered. This daemon may have other queues. */
static int forget_interfaces(int devices_fd)
{
	__u32 ifindex;
	int err = 0;

	while (!err && bpf_map_get_next_key(devices_fd, NULL, &ifindex) == 0) {
		err = bpf_map_delete_elem(devices_fd, &ifindex);
		/* The interface was deleted, and its entry with it. */
		if (err == -ENOENT)
			err = 0;
	}
	if (err)
		log_error("cannot turn look-ahead off for interface %u: %s", ifindex,
			  strerror(-err));
	return err;
}

static void enter_interface(int devices_fd, int program_fd, unsigned int ifindex)
{
	const struct bpf_devmap_val entry = { .ifindex = ifindex, .bpf_prog.fd = program_fd };
	const char *why_not = why_not_transmitting(ifindex);
	char name[IF_NAMESIZE] = "";
	int err = 0;

	if (!if_indextoname(ifindex, name))
		snprintf(name, sizeof(name), "(gone)");
	if (!why_not)
		err = bpf_map_update_elem(devices_fd, &ifindex, &entry, BPF_ANY);
	if (err)
		log_info("%s does not look ahead, which costs time: cannot enter it into %s: %s",
			 name, DEVICES_MAP, strerror(-err));
	else if (why_not)
		log_info("%s does not look ahead, which costs time: %s", name, why_not);
}

int look_ahead_enter(const struct stepwise_protocol *protocol, const struct xsk_queues *queues)
{
	int devices_fd = open_pinned_map(DEVICES_MAP);
	int program_fd = devices_fd < 0 ? -1 : open_pinned_program(protocol->ahead_program);
	int err = program_fd < 0 ? -EIO : forget_interfaces(devices_fd);

	for (size_t i = 0; !err && i < queues->count; i++)
		if (queues->queues[i].number == 0)
			enter_interface(devices_fd, program_fd, queues->queues[i].ifindex);
	if (program_fd >= 0)
		close(program_fd);
	if (devices_fd >= 0)
		close(devices_fd);
	return err;
}

/* Returns a negative number if the protocol does not look ahead. */
static int open_devices(void)
{
	char path[PATH_MAX];

	return pins_path(path, "build/" DEVICES_MAP) ?: bpf_obj_get(path);
}

void look_ahead_leave(unsigned int ifindex)
{
	int fd = open_devices();

	if (fd < 0)
		return;
	bpf_map_delete_elem(fd, &ifindex);
	close(fd);
}

bool look_ahead_entered(unsigned int ifindex)
{
	struct bpf_devmap_val entry;
	int fd = open_devices();
	bool entered;

	if (fd < 0)
		return false;
	entered = bpf_map_lookup_elem(fd, &ifindex, &entry) == 0;
	close(fd);
	return entered;
}
