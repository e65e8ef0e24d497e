/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include "base/files.h"
#include "base/log.h"

#define BUFFER_BYTES (1 << 16)

const char *files_kind(mode_t mode)
{
	if (S_ISFIFO(mode))
		return "a named pipe";
	if (S_ISDIR(mode))
		return "a folder";
	if (S_ISSOCK(mode))
		return "a socket";
	return S_ISLNK(mode) ? "a symbolic link" : "a device";
}

static int refuse_kind(const char *folder, const char *name, mode_t mode, const char *otherwise)
{
	log_error("cannot read %s%s%s: it is %s, and not a regular file; %s", folder ? folder : "",
		  folder ? "/" : "", name, files_kind(mode), otherwise);
	return -EINVAL;
}

/* O_NONBLOCK, because opening a pipe would wait for a writer. It does not affect a regular file. */
static int open_regular(int folder_fd, const char *folder, const char *name, int flags,
			const char *otherwise)
{
	const int fd = openat(folder_fd, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC | flags);
	struct stat status;
	int err = fd < 0 || fstat(fd, &status) ? -errno : 0;

	/* A socket, some devices, and a link that is not followed cannot be opened at all. */
	if (fd < 0 &&
	    fstatat(folder_fd, name, &status, flags & O_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0) == 0 &&
	    !S_ISREG(status.st_mode))
		return refuse_kind(folder, name, status.st_mode, otherwise);
	if (!err && S_ISREG(status.st_mode))
		return fd;
	if (!err)
		err = refuse_kind(folder, name, status.st_mode, otherwise);
	else
		log_error("cannot read %s%s%s: %s", folder ? folder : "", folder ? "/" : "", name,
			  strerror(-err));
	if (fd >= 0)
		close(fd);
	return err;
}

int files_open(int folder_fd, const char *folder, const char *name)
{
	return open_regular(folder_fd, folder, name, O_NOFOLLOW,
			    "remove it, or put the file itself there");
}

int files_open_path(const char *path, const char *otherwise)
{
	return open_regular(AT_FDCWD, NULL, path, 0, otherwise);
}

int files_make(int folder_fd, const char *folder, const char *name, const char *(*remedy)(int err))
{
	int err = unlinkat(folder_fd, name, 0) && errno != ENOENT ? -errno : 0;
	int fd = -1;

	if (!err) {
		fd = openat(folder_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			    S_IRUSR | S_IWUSR);
		err = fd < 0 ? -errno : 0;
	}
	if (!err)
		return fd;
	log_error(
		"cannot make %s%s%s: %s%s", folder ? folder : "", folder ? "/" : "", name,
		strerror(-err),
		err == -EEXIST ?
			", also after it was removed: another program makes files in this folder" :
		remedy ? remedy(err) :
			 "");
	return err;
}

/*
 * In $TMPDIR, or else in the folder for large files. Some file systems cannot create a file without
 * a name (O_TMPFILE).
 */
static int open_unnamed(void)
{
	const char *folder = getenv("TMPDIR");
	char path[PATH_MAX];
	int fd;

	if (!folder || !*folder)
		folder = "/var/tmp";
	fd = open(folder, O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR) &&
	    snprintf(path, sizeof(path), "%s/XXXXXX_stepwise", folder) < PATH_MAX) {
		fd = mkostemps(path, strlen("_stepwise"), O_CLOEXEC);
		if (fd >= 0)
			unlink(path);
	}
	if (fd < 0)
		log_error("cannot make a file in %s: %s; name another folder in TMPDIR", folder,
			  strerror(errno));
	return fd;
}

static bool copy(FILE *from, FILE *to, const char *name)
{
	static unsigned char buffer[BUFFER_BYTES];
	size_t size;

	while ((size = fread(buffer, 1, sizeof(buffer), from)))
		if (fwrite(buffer, 1, size, to) != size)
			break;
	if (ferror(from)) {
		log_error("cannot read %s: %s", name, strerror(errno));
		return false;
	}
	if (ferror(to) || fflush(to) || fseeko(to, 0, SEEK_SET)) {
		log_error("cannot keep a copy of %s: %s; name a folder with room for it in TMPDIR",
			  name, strerror(errno));
		return false;
	}
	return true;
}

FILE *files_spool(FILE *stream, const char *name)
{
	const int fd = open_unnamed();
	FILE *spooled = fd < 0 ? NULL : fdopen(fd, "w+");

	if (spooled && copy(stream, spooled, name))
		return spooled;
	if (spooled)
		fclose(spooled);
	else if (fd >= 0)
		close(fd);
	return NULL;
}
