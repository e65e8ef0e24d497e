/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/file.h>
#include <sys/mman.h>

#include "daemon_file.h"
#include "log.h"
#include "pins.h"

/* In the order of the struct. */
const char *const daemon_statistics_names[DAEMON_STATISTICS_COUNT] = {
	"received",   "replied",      "dropped", "malformed",    "unexpected_interface",  "receive_failed",
	"send_failed", "sweeps", "sweep_passes", "sweep_cells_continued", "sweep_contended", "sweep_failed",
};

static pid_t read_pid(int fd)
{
	char text[32] = "";

	if (pread(fd, text, sizeof(text) - 1, 0) < 0)
		return 0;
	return (pid_t)strtol(text, NULL, 10);
}

pid_t daemon_running(const struct stepwise_protocol *protocol)
{
	char path[PATH_MAX];
	pid_t pid = 0;
	int fd;

	if (run_path(path, "%s.pid", protocol->name))
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	/* The kernel lets go of it with the process, however that ends. */
	if (flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK)
		pid = read_pid(fd);
	close(fd);
	return pid;
}

int daemon_claim(const struct stepwise_protocol *protocol)
{
	char path[PATH_MAX];
	int err, fd;

	err = run_directory_make();
	if (!err)
		err = run_path(path, "%s.pid", protocol->name);
	if (err)
		return err;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0) {
		err = -errno;
		log_error("cannot write %s: %s; run serve as root, or name another directory in STEPWISE_RUN", path, strerror(-err));
		return err;
	}
	/* `status` may be looking for a moment: try for a while before believing that there is a daemon. */
	for (int attempt = 0; flock(fd, LOCK_EX | LOCK_NB); attempt++) {
		if (errno == EWOULDBLOCK && attempt < 20) {
			usleep(5000);
			continue;
		}
		log_error("a daemon of %s is running already (pid %d); end that first", protocol->name, (int)read_pid(fd));
		close(fd);
		return -EEXIST;
	}
	return fd;
}

int daemon_write_pid(int claim_fd)
{
	char text[32];
	int length = snprintf(text, sizeof(text), "%d\n", (int)getpid());

	if (ftruncate(claim_fd, 0) || pwrite(claim_fd, text, length, 0) != length) {
		int err = -errno;

		log_error("cannot write the pid file in %s: %s", run_directory(), strerror(-err));
		return err;
	}
	return 0;
}

struct daemon_statistics *daemon_statistics_open(const struct stepwise_protocol *protocol)
{
	struct daemon_statistics *statistics = MAP_FAILED;
	char path[PATH_MAX];
	int fd = -1;

	if (run_path(path, "%s.statistics", protocol->name))
		return NULL;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (fd >= 0 && ftruncate(fd, sizeof(*statistics)) == 0)
		statistics = mmap(NULL, sizeof(*statistics), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (statistics == MAP_FAILED) {
		log_error("cannot keep statistics in %s: %s", path, strerror(errno));
		statistics = NULL;
	}
	if (fd >= 0)
		close(fd);
	return statistics;
}

int daemon_statistics_read(const struct stepwise_protocol *protocol, struct daemon_statistics *statistics)
{
	char path[PATH_MAX];
	ssize_t size;
	int fd;

	if (run_path(path, "%s.statistics", protocol->name))
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	size = read(fd, statistics, sizeof(*statistics));
	close(fd);
	return size == sizeof(*statistics) ? 0 : -ENODATA;
}
