/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The namespaces that this process is in. */
#ifndef STEPWISE_NETNS_H
#define STEPWISE_NETNS_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

/* Inode of this process' network namespace; 0, with a message, when it cannot be read. */
unsigned long netns_here(void);

/*
 * A file that `nsenter --net=FILE` enters that namespace by: the one that `ip netns` has
 * given it, that of process `pid` (0 for none) or of process 1; "FILE" where all of them
 * are of others.
 */
void netns_file(char path[PATH_MAX], unsigned long netns, pid_t pid);

/*
 * Whether this process sees mounts of its own, as `ip netns exec` and `unshare --mount`
 * arrange it. In a container they are those of its first process, and so not.
 */
bool mounts_are_private(void);

#endif
