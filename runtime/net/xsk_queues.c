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

#include "base/log.h"
#include "net/forerunner.h"
#include "net/interfaces.h"
#include "net/xsk_queues.h"
#include "state/pins.h"
#include "stepwise_queues.h"

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

/* Waits for a queue. Frames that arrive meanwhile wait in the ring buffer. */
static struct endpoint *open_when_free(const struct xsk_queue *queue, int sender_fd,
				       __u32 buffer_bytes)
{
	struct endpoint *endpoint = xsk_endpoint_open(queue, sender_fd, buffer_bytes);
	unsigned int attempts = 0;

	while (!endpoint && errno == EBUSY && forerunner_wait(&attempts))
		endpoint = xsk_endpoint_open(queue, sender_fd, buffer_bytes);
	return endpoint;
}

/* Returns NULL with errno set. */
static struct endpoint *open_queue(int sockets_fd, const struct xsk_queue *queue, int sender_fd,
				   __u32 buffer_bytes)
{
	const __u32 place = STEPWISE_QUEUE(queue->ifindex, queue->number);
	struct endpoint *endpoint = open_when_free(queue, sender_fd, buffer_bytes);
	int err;

	if (!endpoint)
		return NULL;
	err = bpf_map_update_elem(sockets_fd, &place, &endpoint->fd, BPF_ANY);
	if (!err)
		return endpoint;
	endpoint->operations->close(endpoint);
	errno = -err;
	return NULL;
}

static void open_interface(int sockets_fd, const struct interface *interface,
			   struct xsk_queues *opened, int sender_fd, __u32 buffer_bytes)
{
	const unsigned int count = queue_count(interface->name);

	for (unsigned int number = 0; number < count && opened->count < XSK_QUEUES_MAX; number++) {
		const struct xsk_queue queue = { interface->ifindex, number };
		struct endpoint *endpoint = open_queue(sockets_fd, &queue, sender_fd, buffer_bytes);

		if (!endpoint) {
			log_info(
				"the ring buffer serves queue %u of %s, which costs time: cannot open an AF_XDP socket: %s",
				number, interface->name, strerror(errno));
			break;
		}
		opened->queues[opened->count] = queue;
		opened->endpoints[opened->count++] = endpoint;
	}
}

/*
 * True if the interface's queues and index fit the map of sockets. Beyond that, its entries would
 * be those of other interfaces.
 */
static bool fits(const struct interface *interface)
{
	const unsigned int count = queue_count(interface->name);

	if (count <= STEPWISE_INTERFACE_QUEUES && interface->ifindex < STEPWISE_INTERFACES)
		return true;
	log_info(
		"%s has %u queues and index %u: the ring buffer serves all interfaces instead of AF_XDP sockets, which costs time",
		interface->name, count, interface->ifindex);
	return false;
}

void xsk_queues_open(struct xsk_queues *opened, int sender_fd, __u32 buffer_bytes)
{
	struct interface *list = NULL;
	size_t count = 0;
	bool all_fit = true;
	char path[PATH_MAX];
	int sockets_fd;

	opened->count = 0;
	/* It does not exist if XDP forwards nothing by it. */
	sockets_fd = pins_path(path, "build/stepwise_sockets") ?: bpf_obj_get(path);
	if (sockets_fd < 0 || interfaces_list(&list, &count))
		count = 0;
	for (size_t i = 0; i < count && all_fit; i++)
		all_fit = !list[i].here || fits(&list[i]);
	for (size_t i = 0; i < count && all_fit; i++)
		if (list[i].here && list[i].xdp_mode == XDP_MODE_NATIVE)
			open_interface(sockets_fd, &list[i], opened, sender_fd, buffer_bytes);
	free(list);
	if (sockets_fd >= 0)
		close(sockets_fd);
}
