/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <string.h>
#include <linux/types.h>
#include <sys/socket.h>

#include "base/log.h"
#include "net/sender.h"
#include "state/programs.h"

int sender_announce(int sender_fd)
{
	__u64 cookie = 0;
	socklen_t size = sizeof(cookie);
	int err;

	if (getsockopt(sender_fd, SOL_SOCKET, SO_COOKIE, &cookie, &size) == 0)
		return set_pinned_number("stepwise_sender", cookie);
	err = -errno;
	log_error("cannot register the daemon's socket with TC: %s", strerror(-err));
	return err;
}
