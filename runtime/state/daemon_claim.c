/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/pidfd.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/netns.h"
#include "state/daemon_claim.h"
#include "state/pins.h"

#define CLAIM_MODE 0600
#define PID_MODE 0644
#define OTHERS_ANYTHING 0077
#define OTHERS_WRITE 0022

#define STOP_MS_MAX 10000

static bool is_ours(const struct stat *status)
{
	return status->st_uid == 0 || status->st_uid == geteuid();
}

/*
 * Opens the run directory, and refuses it if others can write to it: they could replace the claim
 * by their own file. Returns a negative errno after a message.
 */
static int open_run_directory(void)
{
	int fd, err = run_directory_make();
	struct stat status;

	if (err)
		return err;
	fd = open(run_directory(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = fd < 0 || fstat(fd, &status) ? -errno : 0;
	if (!err && is_ours(&status) && !(status.st_mode & OTHERS_WRITE))
		return fd;
	if (err)
		log_error(
			"cannot open the directory of run state %s: %s; name another in STEPWISE_RUN",
			run_directory(), strerror(-err));
	else
		log_error(
			"cannot keep run state in %s: it belongs to user %d, with mode %04o, so another process could pose as the daemon; make it root's (`chown root %s; chmod go-w %s`), or name another in STEPWISE_RUN",
			run_directory(), (int)status.st_uid, status.st_mode & 07777,
			run_directory(), run_directory());
	if (fd >= 0)
		close(fd);
	return err ?: -EPERM;
}

/*
 * Opens the claim, and refuses it if others can open it: a lock on such a file would prove nothing.
 * Without a message.
 */
static int open_claim(int folder_fd, const char *path, int flags)
{
	const int fd = openat(folder_fd, path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags,
			      CLAIM_MODE);
	struct stat status;
	int err = fd < 0 || fstat(fd, &status) ? -errno : 0;

	if (!err &&
	    (!S_ISREG(status.st_mode) || !is_ours(&status) || status.st_mode & OTHERS_ANYTHING))
		err = -EPERM;
	if (!err)
		return fd;
	if (fd >= 0)
		close(fd);
	return err;
}

int daemon_claim_open(const struct stepwise_protocol *protocol)
{
	char path[PATH_MAX];
	int err = run_path(path, "%s.claim", protocol->name);

	return err ? err : open_claim(AT_FDCWD, path, 0);
}

/* Returns the process that holds the claim, according to the kernel; 0 if none does. */
static pid_t holder(int claim_fd)
{
	struct flock claim = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	if (fcntl(claim_fd, F_GETLK, &claim) || claim.l_type == F_UNLCK)
		return 0;
	return claim.l_pid > 0 ? claim.l_pid : DAEMON_ELSEWHERE;
}

/*
 * Reads the namespace that the holder wrote. The text of an earlier daemon may still be there for a
 * moment.
 */
static unsigned long read_netns(int claim_fd, pid_t pid)
{
	unsigned long netns = 0;
	char text[DAEMON_CLAIM_TEXT_BYTES] = "";
	int written = 0;

	if (pread(claim_fd, text, sizeof(text) - 1, 0) < 0 ||
	    sscanf(text, "%d %lu", &written, &netns) != 2)
		return 0;
	return written == pid || pid == DAEMON_ELSEWHERE ? netns : 0;
}

pid_t daemon_running(const struct stepwise_protocol *protocol, unsigned long *netns)
{
	const int fd = daemon_claim_open(protocol);
	const pid_t pid = fd < 0 ? 0 : holder(fd);

	if (netns)
		*netns = pid ? read_netns(fd, pid) : 0;
	if (fd >= 0)
		close(fd);
	return pid;
}

/* --- The daemon ------------------------------------------------------------------------------- */

static int write_text(int fd, const char *text)
{
	const ssize_t length = (ssize_t)strlen(text);

	return fd < 0 || ftruncate(fd, 0) || pwrite(fd, text, length, 0) != length ? -errno : 0;
}

/*
 * Writes <protocol>.pid, whose first line is for other tools that look for a process, and the
 * claim's text.
 */
static int write_pid(int folder_fd, int claim_fd, const struct stepwise_protocol *protocol)
{
	unsigned long netns = netns_here();
	char text[DAEMON_CLAIM_TEXT_BYTES], name[PATH_MAX];
	int fd, err;

	if (!netns)
		return -ENOENT;
	snprintf(text, sizeof(text), "%d\n%lu\n", (int)getpid(), netns);
	snprintf(name, sizeof(name), "%s.pid", protocol->name);
	fd = openat(folder_fd, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
		    PID_MODE);
	err = write_text(fd, text) ?: write_text(claim_fd, text);
	if (err)
		log_error("cannot write %s in %s: %s", name, run_directory(), strerror(-err));
	if (fd >= 0)
		close(fd);
	return err;
}

static int refuse_second(const struct stepwise_protocol *protocol, int claim_fd, pid_t pid)
{
	char where[PATH_MAX];

	netns_file(where, read_netns(claim_fd, pid), pid);
	log_error(
		"a daemon of %s is already running (pid %d), in the network namespace %s; stop it first",
		protocol->name, (int)pid, where);
	return -EEXIST;
}

/*
 * Returns 1 if this process holds the file, and the file still has its name. Returns 0 if it must
 * be opened again.
 */
static int try_claim(const struct stepwise_protocol *protocol, int folder_fd, const char *name,
		     int claim_fd)
{
	struct flock claim = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	struct stat held, named;
	pid_t pid;

	if (fcntl(claim_fd, F_SETLK, &claim) == 0)
		return fstat(claim_fd, &held) == 0 &&
		       fstatat(folder_fd, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
		       held.st_ino == named.st_ino;
	if (errno != EAGAIN && errno != EACCES) {
		const int err = -errno;

		log_error("cannot claim %s/%s: %s", run_directory(), name, strerror(-err));
		return err;
	}
	pid = holder(claim_fd);
	return pid ? refuse_second(protocol, claim_fd, pid) : 0;
}

static int claim_in(int folder_fd, const struct stepwise_protocol *protocol)
{
	char name[PATH_MAX];

	snprintf(name, sizeof(name), "%s.claim", protocol->name);
	for (;;) {
		const int fd = open_claim(folder_fd, name, O_CREAT);
		int claimed;

		if (fd < 0) {
			log_error(
				"cannot claim %s/%s: %s%s", run_directory(), name, strerror(-fd),
				fd == -EPERM || fd == -ELOOP ?
					"; others than root can open this file: remove it" :
					"; run serve as root, or name another directory in STEPWISE_RUN");
			return fd;
		}
		claimed = try_claim(protocol, folder_fd, name, fd);
		if (claimed > 0)
			claimed = write_pid(folder_fd, fd, protocol) ?: 1;
		if (claimed > 0)
			return fd;
		close(fd);
		if (claimed < 0)
			return claimed;
	}
}

int daemon_claim(const struct stepwise_protocol *protocol)
{
	const int folder_fd = open_run_directory();
	int fd;

	if (folder_fd < 0)
		return folder_fd;
	fd = claim_in(folder_fd, protocol);
	close(folder_fd);
	return fd;
}

int daemon_claim_remove(const struct stepwise_protocol *protocol)
{
	struct flock claim = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	const int fd = daemon_claim_open(protocol);
	char path[PATH_MAX];
	int err;

	if (fd == -ENOENT)
		return 0;
	if (fd < 0) {
		log_error("cannot remove %s.claim from %s: %s", protocol->name, run_directory(),
			  strerror(-fd));
		return fd;
	}
	/*
	 * Hold it during the removal. A daemon that gets the lock afterwards checks whether the
	 * file still has its name.
	 */
	err = run_path(path, "%s.claim", protocol->name);
	if (!err && (fcntl(fd, F_SETLK, &claim) || unlink(path)))
		err = errno == EAGAIN || errno == EACCES ? -EBUSY : -errno;
	if (err)
		log_error("cannot remove %s.claim from %s: %s", protocol->name, run_directory(),
			  err == -EBUSY ? "its daemon is running" : strerror(-err));
	close(fd);
	return err ? err : 1;
}

/* --- Stopping it ------------------------------------------------------------------------------ */

/* Returns 0 when the process is gone. */
static int wait_for_end(const struct stepwise_protocol *protocol, int process_fd, pid_t pid)
{
	struct pollfd ended = { .fd = process_fd, .events = POLLIN };
	const int count = poll(&ended, 1, STOP_MS_MAX);

	if (count > 0)
		return 0;
	log_error(
		"the daemon of %s (process %d) did not end within %d s of SIGTERM; `just status` and its log say more",
		protocol->name, (int)pid, STOP_MS_MAX / 1000);
	return count < 0 ? -errno : -ETIMEDOUT;
}

/*
 * A process number may be reused before the signal is sent. So open the process first, and then
 * check that its number holds the claim. Either that is the opened process, or the opened process
 * is dead: the signal never goes to another one. Returns 0, also if another process became the
 * daemon meanwhile.
 */
static int stop_process(const struct stepwise_protocol *protocol, int claim_fd, pid_t pid)
{
	const int process_fd = pidfd_open(pid, 0);
	int err = process_fd < 0 ? -errno : 0;

	if (!err && holder(claim_fd) == pid) {
		if (pidfd_send_signal(process_fd, SIGTERM, NULL, 0))
			err = -errno;
		if (!err)
			err = wait_for_end(protocol, process_fd, pid);
		else if (err != -ESRCH)
			log_error("cannot stop the daemon of %s (process %d): %s", protocol->name,
				  (int)pid, strerror(-err));
	} else if (err && err != -ESRCH) {
		log_error("cannot open the daemon of %s (process %d): %s", protocol->name, (int)pid,
			  strerror(-err));
	}
	if (process_fd >= 0)
		close(process_fd);
	return err == -ESRCH ? 0 : err;
}

int command_stop(const struct stepwise_protocol *protocol)
{
	const int fd = daemon_claim_open(protocol);
	pid_t pid = 0, stopped = 0;
	int err = fd < 0 && fd != -ENOENT ? fd : 0;

	if (err)
		log_error(
			"cannot find the process of the daemon of %s: %s/%s.claim: %s; run this as root",
			protocol->name, run_directory(), protocol->name, strerror(-err));
	while (!err && fd >= 0 && (pid = holder(fd))) {
		if (pid == DAEMON_ELSEWHERE) {
			log_error(
				"cannot stop the daemon of %s: it is in another process namespace; stop it there",
				protocol->name);
			err = -ESRCH;
		} else {
			err = stop_process(protocol, fd, pid);
			stopped = pid;
		}
	}
	if (!err && stopped)
		log_info("the daemon of %s (process %d) has ended", protocol->name, (int)stopped);
	else if (!err)
		log_info("no daemon of %s is running", protocol->name);
	if (fd >= 0)
		close(fd);
	return err;
}
