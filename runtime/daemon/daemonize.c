/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>

#include "base/log.h"
#include "daemon/daemonize.h"
#include "state/pins.h"

static int log_fd = -1;

/* Opens the log early, because the daemon drops its privileges before it is ready. */
static int open_log(const struct stepwise_protocol *protocol)
{
	char path[PATH_MAX];
	int err = run_directory_make();

	if (!err)
		err = run_path(path, "%s.log", protocol->name);
	if (err)
		return err;
	log_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (log_fd >= 0)
		return 0;
	err = -errno;
	log_error("cannot write %s: %s; run serve as root", path, strerror(-err));
	return err;
}

static int wait_for_child(pid_t child, int fd)
{
	int err, status;
	ssize_t size = read(fd, &err, sizeof(err));

	close(fd);
	if (size == sizeof(err) && !err)
		return 0;
	waitpid(child, &status, 0); /* until then it keeps its claim */
	if (size == sizeof(err))
		return err;
	log_error("the daemon ended before it was ready (wait status 0x%x)", status);
	return -ECHILD;
}

int daemonize_begin(struct background *background, const struct stepwise_protocol *protocol,
		    bool daemonize)
{
	int err, pipe_fds[2];
	pid_t child;

	background->is_parent = false;
	background->report_fd = -1;
	if (!daemonize)
		return 0;
	/*
	 * Close inherited pipes: a process that waits for the end of one should not wait for the
	 * end of the daemon.
	 */
	close_range(STDERR_FILENO + 1, ~0U, 0);
	err = open_log(protocol);
	if (err)
		return err;
	child = pipe2(pipe_fds, O_CLOEXEC) ? -1 : fork();
	if (child < 0) {
		err = -errno;
		log_error("cannot start a process for the daemon: %s", strerror(-err));
		return err;
	}
	if (child > 0) {
		close(pipe_fds[1]);
		background->is_parent = true;
		return wait_for_child(child, pipe_fds[0]);
	}
	close(pipe_fds[0]);
	background->report_fd = pipe_fds[1];
	setsid();
	if (chdir("/"))
		log_debug("chdir /: %s", strerror(errno));
	return 0;
}

void daemonize_ready(struct background *background, int err)
{
	int null_fd;

	if (background->report_fd < 0)
		return;
	if (write(background->report_fd, &err, sizeof(err)) != sizeof(err))
		log_debug("no process waited for the daemon: %s", strerror(errno));
	close(background->report_fd);
	background->report_fd = -1;
	null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null_fd < 0 || dup2(null_fd, STDIN_FILENO) < 0 || dup2(null_fd, STDOUT_FILENO) < 0 ||
	    dup2(log_fd, STDERR_FILENO) < 0)
		log_debug("cannot leave the terminal: %s", strerror(errno));
	if (null_fd >= 0)
		close(null_fd);
}
