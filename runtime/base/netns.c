/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/netns.h"

#define NAMED_NAMESPACES "/run/netns"

unsigned long netns_here(void)
{
	struct stat status;

	if (stat("/proc/self/ns/net", &status)) {
		log_error(
			"cannot tell which network namespace this is: /proc/self/ns/net: %s; is /proc mounted?",
			strerror(errno));
		return 0;
	}
	return status.st_ino;
}

static bool is_netns(const char *path, unsigned long netns)
{
	struct stat here, found;

	/*
	 * Compare inode numbers only between namespaces, because other files may have the same
	 * numbers.
	 */
	return stat("/proc/self/ns/net", &here) == 0 && stat(path, &found) == 0 &&
	       found.st_dev == here.st_dev && found.st_ino == netns;
}

static bool find_named(char path[PATH_MAX], unsigned long netns)
{
	DIR *directory = opendir(NAMED_NAMESPACES);
	struct dirent *entry;
	bool found = false;

	while (directory && !found && (entry = readdir(directory))) {
		snprintf(path, PATH_MAX, NAMED_NAMESPACES "/%s", entry->d_name);
		found = is_netns(path, netns);
	}
	if (directory)
		closedir(directory);
	return found;
}

void netns_file(char path[PATH_MAX], unsigned long netns, pid_t pid)
{
	const pid_t processes[] = { pid, 1 };

	if (find_named(path, netns))
		return;
	for (size_t i = 0; i < sizeof(processes) / sizeof(processes[0]); i++) {
		snprintf(path, PATH_MAX, "/proc/%d/ns/net", (int)processes[i]);
		if (is_netns(path, netns))
			return;
	}
	strcpy(path, "FILE");
}

/*
 * Mount numbers are unique across all mount namespaces. (Comparing /proc/PID/ns/mnt would be
 * simpler, but on a hardened system nobody can read that of process 1.)
 */
bool mounts_are_private(void)
{
	FILE *ours = fopen("/proc/self/mountinfo", "re"), *first = fopen("/proc/1/mountinfo", "re");
	bool private = false;
	char *line = NULL;
	size_t size = 0;
	int mount, other;

	if (ours && first && fscanf(ours, "%d", &mount) == 1) {
		private = true;
		while (private && getline(&line, &size, first) >= 0)
		private = sscanf(line, "%d", &other) != 1 || other != mount;
	}
	free(line);
	if (ours)
		fclose(ours);
	if (first)
		fclose(first);
	return private;
}
