/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <net/if.h>

#include "log.h"
#include "look_ahead.h"
#include "object.h"
#include "pins.h"
#include "ring_endpoint.h"
#include "transmits.h"

#define DEVICES_MAP "stepwise_devices"

/* What an earlier daemon has entered: this one may have other queues. */
static int forget_interfaces(int devices_fd)
{
	__u32 ifindex;
	int err = 0;

	while (!err && bpf_map_get_next_key(devices_fd, NULL, &ifindex) == 0) {
		err = bpf_map_delete_elem(devices_fd, &ifindex);
		/* The interface has gone, and the entry with it. */
		if (err == -ENOENT)
			err = 0;
	}
	if (err)
		log_error("cannot remove interface %u from those that look ahead: %s", ifindex, strerror(-err));
	return err;
}

static void enter_interface(int devices_fd, int program_fd, unsigned int ifindex)
{
	const struct bpf_devmap_val entry = { .ifindex = ifindex, .bpf_prog.fd = program_fd };
	const char *why_not = why_not_transmitting(ifindex);
	char name[IF_NAMESIZE] = "";
	int err = 0;

	if (!why_not)
		err = bpf_map_update_elem(devices_fd, &ifindex, &entry, BPF_ANY);
	if (err)
		why_not = strerror(-err);
	if (why_not)
		log_info("%s does not look ahead, which costs more: %s", if_indextoname(ifindex, name) ?: "an interface that has gone", why_not);
}

struct endpoint *look_ahead_open(const struct stepwise_protocol *protocol, const struct frame_queues *queues, __u32 buffer_bytes)
{
	int devices_fd = open_pinned_map(DEVICES_MAP);
	int program_fd = devices_fd < 0 ? -1 : open_pinned_program(protocol->ahead_program);
	struct endpoint *endpoint = NULL;

	/* The ring first: what is forwarded by an entry is to find it open, with room. */
	if (program_fd >= 0 && forget_interfaces(devices_fd) == 0)
		endpoint = ring_endpoint_open(buffer_bytes);
	for (size_t i = 0; endpoint && i < queues->count; i++)
		if (queues->queues[i].number == 0)
			enter_interface(devices_fd, program_fd, queues->queues[i].ifindex);
	if (program_fd >= 0)
		close(program_fd);
	if (devices_fd >= 0)
		close(devices_fd);
	return endpoint;
}

bool look_ahead_entered(unsigned int ifindex)
{
	struct bpf_devmap_val entry;
	char path[PATH_MAX];
	bool entered;
	int fd;

	/* Not there where the protocol does not look ahead. */
	fd = pins_path(path, "build/" DEVICES_MAP) ?: bpf_obj_get(path);
	if (fd < 0)
		return false;
	entered = bpf_map_lookup_elem(fd, &ifindex, &entry) == 0;
	close(fd);
	return entered;
}
