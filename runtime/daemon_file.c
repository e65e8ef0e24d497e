/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/file.h>
#include <sys/mman.h>

#include "daemon_file.h"
#include "log.h"
#include "netns.h"
#include "pins.h"

/* In the order of the struct. */
const char *const daemon_statistics_names[DAEMON_STATISTICS_COUNT] = {
	"received",
	"received_by_ring",
	"replied",
	"dropped",
	"kept",
	"kept_dropped",
	"malformed",
	"unexpected_interface",
	"strangers",
	"overflowed",
	"receive_failed",
	"send_failed",
	"sweeps",
	"sweep_passes",
	"sweep_cells_continued",
	"sweep_contended",
	"sweep_failed",
	"drain_records",
	"drain_bytes",
	"drain_batches",
	"drain_full",
	"drain_segments",
	"drain_syncs",
	"drain_sync_us",
	"drain_sync_last_us",
};

/* The second line is for us; others who look for a pid read the first. */
static pid_t read_pid(int fd, unsigned long *netns)
{
	char text[64] = "";
	int pid = 0;

	*netns = 0;
	if (pread(fd, text, sizeof(text) - 1, 0) < 0 || sscanf(text, "%d %lu", &pid, netns) < 1)
		return 0;
	return pid;
}

pid_t daemon_running(const struct stepwise_protocol *protocol, unsigned long *netns)
{
	unsigned long found = 0;
	char path[PATH_MAX];
	pid_t pid = 0;
	int fd;

	if (netns)
		*netns = 0;
	if (run_path(path, "%s.pid", protocol->name))
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	/* The kernel lets go of it with the process, however that ends. */
	if (flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK)
		pid = read_pid(fd, &found);
	if (pid && netns)
		*netns = found;
	close(fd);
	return pid;
}

/* Of this process, which holds the file. */
static int write_pid(int fd)
{
	unsigned long netns = netns_here();
	char text[64];
	int length = snprintf(text, sizeof(text), "%d\n%lu\n", (int)getpid(), netns);

	if (!netns)
		return -ENOENT;
	if (ftruncate(fd, 0) || pwrite(fd, text, length, 0) != length) {
		int err = -errno;

		log_error("cannot write the pid file in %s: %s", run_directory(), strerror(-err));
		return err;
	}
	return 0;
}

int daemon_claim(const struct stepwise_protocol *protocol)
{
	char path[PATH_MAX], where[PATH_MAX];
	unsigned long netns;
	int err, fd;
	pid_t pid;

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
		pid = read_pid(fd, &netns);
		netns_file(where, netns, pid);
		log_error("a daemon of %s is running already (pid %d), in the network namespace %s; end that first", protocol->name,
			  (int)pid, where);
		close(fd);
		return -EEXIST;
	}
	/* At once: what is in it is of the daemon before. */
	err = write_pid(fd);
	if (!err)
		return fd;
	close(fd);
	return err;
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

/* 1 when there was such a file. */
static int remove_file(const char *name, const char *suffix)
{
	char path[PATH_MAX];
	int err = run_path(path, "%s%s", name, suffix);

	if (err)
		return err;
	if (unlink(path) == 0)
		return 1;
	if (errno == ENOENT)
		return 0;
	err = -errno;
	log_error("cannot remove %s: %s", path, strerror(-err));
	return err;
}

int daemon_files_remove(const struct stepwise_protocol *protocol)
{
	const struct {
		const char *name, *suffix;
	} files[] = {
		{ protocol->name, ".pid" },
		{ protocol->name, ".log" },
		{ protocol->name, ".statistics" },
		{ protocol->xdp_program, VERIFIER_LOG_SUFFIX },
		{ protocol->tc_program, VERIFIER_LOG_SUFFIX },
	};
	int count = 0, removed = 0;

	for (size_t i = 0; removed >= 0 && i < sizeof(files) / sizeof(files[0]); i++) {
		removed = files[i].name ? remove_file(files[i].name, files[i].suffix) : 0;
		count += removed;
	}
	for (__u32 i = 0; removed >= 0 && i < protocol->pass_count; i++) {
		removed = remove_file(protocol->passes[i].program, VERIFIER_LOG_SUFFIX);
		count += removed;
	}
	return removed < 0 ? removed : count;
}
