/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/log.h"
#include "base/netns.h"
#include "state/pins.h"

static char bpffs[PATH_MAX];
static char base[PATH_MAX];
static char run[PATH_MAX];

static int format_path(char path[PATH_MAX], const char *root, const char *format, va_list arguments)
{
	int length = snprintf(path, PATH_MAX, "%s/", root);

	if (length < PATH_MAX)
		length += vsnprintf(path + length, PATH_MAX - length, format, arguments);
	if (length >= PATH_MAX) {
		log_error("cannot name a file under %s: the path is longer than %d bytes", root,
			  PATH_MAX);
		return -ENAMETOOLONG;
	}
	return 0;
}

int pins_path(char path[PATH_MAX], const char *format, ...)
{
	va_list arguments;
	int err;

	va_start(arguments, format);
	err = format_path(path, base, format, arguments);
	va_end(arguments);
	return err;
}

int run_path(char path[PATH_MAX], const char *format, ...)
{
	va_list arguments;
	int err;

	va_start(arguments, format);
	err = format_path(path, run, format, arguments);
	va_end(arguments);
	return err;
}

const char *pins_base(void)
{
	return base;
}

const char *run_directory(void)
{
	return run;
}

static int set_path(char path[PATH_MAX], const char *variable, const char *otherwise)
{
	const char *value = getenv(variable);

	if (!value || !*value)
		value = otherwise;
	if (value[0] != '/' || strlen(value) >= PATH_MAX / 2) {
		log_error("%s is %s: it must be an absolute path", variable, value);
		return -EINVAL;
	}
	strcpy(path, value);
	return 0;
}

int pins_open(const struct stepwise_protocol *protocol)
{
	int err;

	err = set_path(bpffs, "STEPWISE_BPFFS", "/sys/fs/bpf");
	if (!err)
		err = set_path(run, "STEPWISE_RUN", "/run/stepwise");
	if (!err && snprintf(base, PATH_MAX, "%s/stepwise/%s", bpffs, protocol->name) >= PATH_MAX)
		err = -ENAMETOOLONG;
	return err;
}

bool pins_exist(const char *path)
{
	return access(path, F_OK) == 0;
}

int pins_make_directory(const char *path)
{
	if (mkdir(path, 0700) && errno != EEXIST) {
		int err = -errno;

		log_error("cannot make directory %s: %s", path, strerror(-err));
		return err;
	}
	return 0;
}

/* Like mkdir -p, without messages. */
static int make_directories(const char *path, mode_t mode)
{
	char partial[PATH_MAX];

	snprintf(partial, sizeof(partial), "%s", path);
	for (char *slash = strchr(partial + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(partial, mode) && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return mkdir(partial, mode) && errno != EEXIST ? -errno : 0;
}

int run_directory_make(void)
{
	int err = make_directories(run, 0755);

	if (err)
		log_error(
			"cannot make directory %s for run state: %s; name another in STEPWISE_RUN",
			run, strerror(-err));
	return err;
}

static bool is_bpffs(const char *path)
{
	struct statfs found;

	return statfs(path, &found) == 0 && (unsigned int)found.f_type == BPF_FS_MAGIC;
}

/*
 * Refuses to mount a BPF file system in private mounts. It would disappear, with all pins, when the
 * last process with these mounts ends. A file system of the rest of the system may be hidden from
 * here.
 */
static int check_mounts(void)
{
	char path[PATH_MAX];
	unsigned long netns;

	if (is_bpffs(bpffs) || !mounts_are_private())
		return 0;
	netns = netns_here();
	netns_file(path, netns, 0);
	log_error(
		"there is no BPF file system at %s, because this process sees other mounts than the rest of the system (`ip netns exec` does that, and its pins disappear when it ends); enter the network namespace by `nsenter --net=%s COMMAND` instead",
		bpffs, path);
	return -EXDEV;
}

int pins_make_base(void)
{
	int err;

	err = check_mounts();
	if (err)
		return err;
	err = make_directories(bpffs, 0700);
	if (err) {
		log_error(
			"there is no BPF file system at %s: cannot make the directory: %s; mount one (mount -t bpf bpf DIRECTORY) and name it in STEPWISE_BPFFS",
			bpffs, strerror(-err));
		return err;
	}
	if (!is_bpffs(bpffs)) {
		if (mount("bpf", bpffs, "bpf", 0, "mode=0700")) {
			err = -errno;
			log_error(
				"there is no BPF file system at %s, and none could be mounted there: %s; as root, run `mount -t bpf bpf %s`, or name one that is mounted in STEPWISE_BPFFS",
				bpffs, strerror(-err), bpffs);
			return err;
		}
		log_info("mounted a BPF file system at %s", bpffs);
	}
	err = make_directories(base, 0700);
	if (err)
		log_error("cannot make directory %s: %s; load must own it: run it as root", base,
			  strerror(-err));
	return err;
}

int pins_hold(enum pins_hold how)
{
	for (;;) {
		struct stat held, named;
		int fd = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		int err;

		if (fd < 0) {
			err = -errno;
			if (err == -ENOENT)
				return check_mounts() ?: err;
			log_error("cannot open %s: %s; run this as root", base, strerror(-err));
			return err;
		}
		if (flock(fd, how == PINS_EXCLUSIVE ? LOCK_EX : LOCK_SH)) {
			err = -errno;
			log_error("cannot wait for other commands on %s: %s", base, strerror(-err));
			close(fd);
			return err;
		}
		/*
		 * Another command removed it while this one waited (a purge). Only the new
		 * directory counts, if there is one.
		 */
		if (fstat(fd, &held) == 0 && stat(base, &named) == 0 && held.st_ino == named.st_ino)
			return fd;
		close(fd);
	}
}

int pins_remove(const char *path)
{
	DIR *directory;
	struct dirent *entry;
	int err = 0;

	if (unlink(path) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		goto failed;

	directory = opendir(path);
	if (!directory)
		goto failed;
	while (!err && (entry = readdir(directory))) {
		char child[PATH_MAX];

		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (snprintf(child, sizeof(child), "%s/%s", path, entry->d_name) >= PATH_MAX)
			err = -ENAMETOOLONG;
		else
			err = pins_remove(child);
	}
	closedir(directory);
	if (err)
		return err;
	if (rmdir(path) == 0)
		return 0;
failed:
	err = -errno;
	log_error("cannot remove %s: %s", path, strerror(-err));
	return err;
}
