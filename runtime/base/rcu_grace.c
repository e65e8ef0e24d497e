/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/membarrier.h>
#include <linux/types.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>

#include "base/log.h"
#include "base/rcu_grace.h"

enum grace_request {
	GRACE_WAIT = 1,
	GRACE_STOP = 1 << 16,
};

struct rcu_grace {
	pthread_t thread;
	int request_fd;
	int done_fd;
};

static int membarrier(int command)
{
	return syscall(SYS_membarrier, command, 0, 0);
}

static void *grace_thread(void *context)
{
	const struct rcu_grace *grace = context;
	const __u64 one = 1;
	__u64 request;

	for (;;) {
		if (read(grace->request_fd, &request, sizeof(request)) != sizeof(request)) {
			if (errno == EINTR)
				continue;
			return NULL;
		}
		if (request >= GRACE_STOP)
			return NULL;
		/*
		 * This is the kernel's synchronize_rcu(): all XDP, TC and test runs that started
		 * before it have ended.
		 */
		membarrier(MEMBARRIER_CMD_GLOBAL);
		if (write(grace->done_fd, &one, sizeof(one)) != sizeof(one))
			return NULL;
	}
}

static int start_thread(struct rcu_grace *grace)
{
	sigset_t all, before;
	int err;

	/* Block signals: the main thread waits for them. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&grace->thread, NULL, grace_thread, grace);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -err;
}

struct rcu_grace *rcu_grace_open(void)
{
	struct rcu_grace *grace;
	int commands, err;

	commands = membarrier(MEMBARRIER_CMD_QUERY);
	if (commands < 0 || !(commands & MEMBARRIER_CMD_GLOBAL)) {
		log_error(
			"cannot sweep: this kernel has no membarrier(MEMBARRIER_CMD_GLOBAL); boot one with CONFIG_MEMBARRIER, and without nohz_full= on its command line");
		return NULL;
	}
	grace = calloc(1, sizeof(*grace));
	if (!grace)
		return NULL;
	grace->request_fd = eventfd(0, EFD_CLOEXEC);
	grace->done_fd = eventfd(0, EFD_CLOEXEC);
	err = grace->request_fd < 0 || grace->done_fd < 0 ? -errno : start_thread(grace);
	if (!err)
		return grace;
	log_error("cannot start the thread that waits for grace periods: %s", strerror(-err));
	if (grace->request_fd >= 0)
		close(grace->request_fd);
	if (grace->done_fd >= 0)
		close(grace->done_fd);
	free(grace);
	return NULL;
}

static void signal_event(int fd, __u64 value)
{
	if (write(fd, &value, sizeof(value)) != sizeof(value))
		log_error("cannot wake the thread that waits for grace periods: %s",
			  strerror(errno));
}

void rcu_grace_close(struct rcu_grace *grace)
{
	if (!grace)
		return;
	signal_event(grace->request_fd, GRACE_STOP);
	pthread_join(grace->thread, NULL);
	close(grace->request_fd);
	close(grace->done_fd);
	free(grace);
}

int rcu_grace_fd(const struct rcu_grace *grace)
{
	return grace->done_fd;
}

void rcu_grace_begin(struct rcu_grace *grace)
{
	signal_event(grace->request_fd, GRACE_WAIT);
}

void rcu_grace_end(struct rcu_grace *grace)
{
	__u64 count;

	if (read(grace->done_fd, &count, sizeof(count)) != sizeof(count))
		log_error("cannot read the end of a grace period: %s", strerror(errno));
}
