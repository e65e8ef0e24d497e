/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include "base/log.h"
#include "segments/segments_folder.h"

#define CLAIM "claim"

#define FOLDER_MODE 0700
#define CLAIM_MODE 0600
#define OTHERS_ENTER 0011
#define OTHERS_ANYTHING 0077

/*
 * Creates a folder, and syncs it so that it survives a crash of the machine. *made: it did not
 * exist before.
 */
static int make_folder(const char *path, bool *made)
{
	char copied[PATH_MAX];
	int fd, err;

	*made = !mkdir(path, FOLDER_MODE);
	if (!*made)
		return errno == EEXIST ? 0 : -errno;
	snprintf(copied, sizeof(copied), "%s", path);
	fd = open(dirname(copied), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = fsync(fd) ? -errno : 0;
	close(fd);
	return err;
}

static void warn_of_others(const char *path, int fd)
{
	struct stat status;

	if (fstat(fd, &status) || !(status.st_mode & OTHERS_ENTER))
		return;
	log_warning(
		"other users can enter the folder of segments %s (mode %04o) and read records from readable files%s; `chmod -R go= %s` keeps them out",
		path, status.st_mode & 07777,
		status.st_mode & 0022 ? ", and they can replace the files" : "", path);
}

static int open_folder(struct segments_folder *folder, const char *path)
{
	bool made;
	int err = make_folder(path, &made);

	if (!err) {
		folder->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		err = folder->fd < 0 ? -errno : 0;
	}
	if (err) {
		log_error(
			"cannot open the folder of segments %s as user %d: %s; name one that this user can make or write to",
			path, (int)geteuid(), strerror(-err));
		return err;
	}
	if (faccessat(folder->fd, ".", W_OK | X_OK, AT_EACCESS)) {
		err = -errno;
		log_error(
			"cannot create files in %s as user %d: %s; the folder, and its files, must belong to that user",
			path, (int)geteuid(), strerror(-err));
		return err;
	}
	if (!made)
		warn_of_others(path, folder->fd);
	return 0;
}

/* Refuses a file of another owner, who could hold it too. */
static int check_claim(const char *path, int fd)
{
	struct stat status;

	if (fstat(fd, &status))
		return -errno;
	if (S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
	    !(status.st_mode & OTHERS_ANYTHING))
		return 0;
	log_error(
		"cannot write segments to %s: its file %s belongs to user %d, with mode %04o, so other users could claim it; remove it while no daemon writes there",
		path, CLAIM, (int)status.st_uid, status.st_mode & 07777);
	return -EPERM;
}

static int open_claim(struct segments_folder *folder, const char *path)
{
	int err;

	folder->claim_fd = openat(folder->fd, CLAIM,
				  O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
				  CLAIM_MODE);
	if (folder->claim_fd >= 0)
		return check_claim(path, folder->claim_fd);
	err = -errno;
	log_error(
		"cannot claim the folder of segments %s: its file %s: %s%s", path, CLAIM,
		strerror(-err),
		err == -EACCES ?
			"; it, and the segments, must belong to the user that the daemon runs as" :
		err == -ELOOP ? "; remove it" :
				"");
	return err;
}

int segments_folder_claim(struct segments_folder *folder, const char *path)
{
	struct flock claim = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int err;

	*folder = (struct segments_folder){ .fd = -1, .claim_fd = -1 };
	err = open_folder(folder, path) ?: open_claim(folder, path);
	if (err || fcntl(folder->claim_fd, F_OFD_SETLK, &claim) == 0)
		return err;
	err = -errno;
	log_error(
		"cannot write segments to %s: %s", path,
		err == -EAGAIN || err == -EACCES ?
			"another daemon has it open; stop that daemon first, or name another folder" :
			strerror(-err));
	return err == -EAGAIN || err == -EACCES ? -EEXIST : err;
}

void segments_folder_close(struct segments_folder *folder)
{
	if (folder->claim_fd >= 0)
		close(folder->claim_fd);
	if (folder->fd >= 0)
		close(folder->fd);
}

/*
 * Queries the lock and does not take it, so that a starting daemon need not wait for an observer.
 */
static bool is_claimed(const char *path, int folder_fd)
{
	struct flock claim = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	const int fd = openat(folder_fd, CLAIM, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	int err = fd < 0 || fcntl(fd, F_OFD_GETLK, &claim) ? -errno : 0;

	if (fd >= 0)
		close(fd);
	/* The folder is of a build without such a file, or no daemon has written to it. */
	if (err == -ENOENT)
		return false;
	if (err)
		log_warning("cannot tell whether a daemon writes to %s: its file %s: %s", path,
			    CLAIM, strerror(-err));
	return err || claim.l_type != F_UNLCK;
}

int segments_folder_open(const char *path, bool *is_written)
{
	const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0) {
		const int err = -errno;

		log_error(
			"cannot open the folder of segments %s: %s; name the folder that serve got as --segments",
			path, strerror(-err));
		return err;
	}
	*is_written = is_claimed(path, fd);
	return fd;
}
