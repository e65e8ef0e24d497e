/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <bpf/bpf.h>

#include "frame_endpoint.h"
#include "frame_queues.h"
#include "interfaces.h"
#include "log.h"
#include "pins.h"

struct xdp_maps {
	int queues_fd;
	int sockets_fd;
};

static int open_map(const char *name)
{
	char path[PATH_MAX];

	return pins_path(path, "build/%s", name) ?: bpf_obj_get(path);
}

/* Of a daemon before us; its sockets went with it. */
static void forget_queues(int queues_fd)
{
	struct stepwise_queue queue;

	while (bpf_map_get_next_key(queues_fd, NULL, &queue) == 0)
		if (bpf_map_delete_elem(queues_fd, &queue))
			return;
}

static unsigned int queue_count(const char *name)
{
	struct ethtool_channels channels = { .cmd = ETHTOOL_GCHANNELS };
	struct ifreq request = { .ifr_data = (char *)&channels };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	unsigned int count = 0;

	memcpy(request.ifr_name, name, sizeof(request.ifr_name) - 1);
	if (fd >= 0 && ioctl(fd, SIOCETHTOOL, &request) == 0)
		count = channels.combined_count + channels.rx_count;
	if (fd >= 0)
		close(fd);
	return count ? count : 1;
}

/* NULL with errno set. */
static struct endpoint *open_queue(const struct xdp_maps *maps, __u32 slot, const struct frame_queue *queue, __u32 buffer_bytes)
{
	const struct stepwise_queue key = { queue->ifindex, queue->number };
	struct endpoint *endpoint = frame_endpoint_open(queue, buffer_bytes);
	int err;

	if (!endpoint)
		return NULL;
	err = bpf_map_update_elem(maps->sockets_fd, &slot, &endpoint->fd, BPF_ANY);
	if (!err)
		err = bpf_map_update_elem(maps->queues_fd, &key, &slot, BPF_ANY);
	if (!err)
		return endpoint;
	endpoint->operations->close(endpoint);
	errno = -err;
	return NULL;
}

static size_t open_interface(const struct xdp_maps *maps, const struct interface *interface, struct endpoint **endpoints, size_t opened,
			     __u32 buffer_bytes)
{
	const unsigned int count = queue_count(interface->name);

	for (unsigned int number = 0; number < count && opened < STEPWISE_QUEUES_MAX; number++) {
		const struct frame_queue queue = { interface->ifindex, number };

		endpoints[opened] = open_queue(maps, opened, &queue, buffer_bytes);
		if (!endpoints[opened]) {
			log_info("queue %u of %s is served by UDP sockets, which costs more: cannot open an AF_XDP socket: %s", number,
				 interface->name, strerror(errno));
			break;
		}
		opened++;
	}
	return opened;
}

size_t frame_queues_open(struct endpoint *endpoints[STEPWISE_QUEUES_MAX], __u32 buffer_bytes)
{
	const struct xdp_maps maps = { open_map("stepwise_queues"), open_map("stepwise_sockets") };
	struct interface *list = NULL;
	size_t count = 0, opened = 0;

	if (maps.queues_fd >= 0 && maps.sockets_fd >= 0) {
		forget_queues(maps.queues_fd);
		if (interfaces_list(&list, &count))
			count = 0;
	}
	for (size_t i = 0; i < count; i++)
		if (list[i].here && list[i].xdp_mode == XDP_MODE_NATIVE)
			opened = open_interface(&maps, &list[i], endpoints, opened, buffer_bytes);
	free(list);
	if (maps.queues_fd >= 0)
		close(maps.queues_fd);
	if (maps.sockets_fd >= 0)
		close(maps.sockets_fd);
	return opened;
}
