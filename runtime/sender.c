/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <linux/types.h>
#include <sys/socket.h>

#include "log.h"
#include "object.h"
#include "sender.h"

int sender_announce(int sender_fd)
{
	const __u32 key = 0;
	__u64 cookie = 0;
	socklen_t size = sizeof(cookie);
	int err, fd;

	fd = open_pinned_map("stepwise_sender");
	if (fd < 0)
		return fd;
	err = getsockopt(sender_fd, SOL_SOCKET, SO_COOKIE, &cookie, &size) ? -errno : 0;
	if (!err)
		err = bpf_map_update_elem(fd, &key, &cookie, BPF_ANY);
	if (err)
		log_error("cannot tell TC by which socket the daemon sends: %s", strerror(-err));
	close(fd);
	return err;
}
