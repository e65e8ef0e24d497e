/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>

#include "base/log.h"
#include "state/daemon_claim.h"
#include "state/pins.h"
#include "state/run_state.h"

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

struct daemon_statistics *daemon_statistics_open(const struct stepwise_protocol *protocol)
{
	struct daemon_statistics *statistics = MAP_FAILED;
	char path[PATH_MAX];
	int fd = -1;

	if (run_path(path, "%s.statistics", protocol->name))
		return NULL;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (fd >= 0 && ftruncate(fd, sizeof(*statistics)) == 0)
		statistics =
			mmap(NULL, sizeof(*statistics), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (statistics == MAP_FAILED) {
		log_error("cannot keep statistics in %s: %s", path, strerror(errno));
		statistics = NULL;
	}
	if (fd >= 0)
		close(fd);
	return statistics;
}

int daemon_statistics_read(const struct stepwise_protocol *protocol,
			   struct daemon_statistics *statistics)
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

/* Removes a file. Returns 1 if it existed. */
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

int run_state_remove(const struct stepwise_protocol *protocol)
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
	int removed = daemon_claim_remove(protocol), count = removed;

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
