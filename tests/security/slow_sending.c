/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Preloaded into a daemon: replies are about to be sent, and are not, while the file that
 * SENDING_WAITS names is there. $SENDING_WAITS.now says so. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/socket.h>

static void wait_for_leave(void)
{
	const char *path = getenv("SENDING_WAITS");
	char now[4096];

	snprintf(now, sizeof(now), "%s.now", path);
	while (access(path, F_OK) == 0) {
		close(open(now, O_WRONLY | O_CREAT, 0600));
		usleep(1000);
	}
}

int sendmmsg(int fd, struct mmsghdr *messages, unsigned int count, int flags)
{
	int (*real)(int, struct mmsghdr *, unsigned int, int) = dlsym(RTLD_NEXT, "sendmmsg");

	wait_for_leave();
	return real(fd, messages, count, flags);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	ssize_t (*real)(int, const struct msghdr *, int) = dlsym(RTLD_NEXT, "sendmsg");

	wait_for_leave();
	return real(fd, message, flags);
}
