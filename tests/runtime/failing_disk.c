/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Preloaded: fdatasync() fails, as on a disk that cannot write, or takes long, while the file that
 * DISK_FAILS or DISK_WAITS names is there. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/syscall.h>

static int is_there(const char *variable)
{
	const char *path = getenv(variable);

	return path && access(path, F_OK) == 0;
}

int fdatasync(int fd)
{
	while (is_there("DISK_WAITS"))
		usleep(1000);
	if (is_there("DISK_FAILS")) {
		errno = EIO;
		return -1;
	}
	return syscall(SYS_fdatasync, fd);
}
