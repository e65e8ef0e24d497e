/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The namespaces that this process is in. */
#ifndef STEPWISE_NETNS_H
#define STEPWISE_NETNS_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * Returns the inode of this process' network namespace; 0, after a message, if it cannot be read.
 */
unsigned long netns_here(void);

/*
 * Finds a file with which `nsenter --net=FILE` enters that namespace: the name that `ip netns` gave
 * it, or the file of process `pid` (0 for none) or of process 1. If none of them is of that
 * namespace, the path is "FILE".
 */
void netns_file(char path[PATH_MAX], unsigned long netns, pid_t pid);

/*
 * True if this process sees its own mounts, as `ip netns exec` and `unshare --mount` arrange it. In
 * a container it is false: the mounts are those of the container's first process.
 */
bool mounts_are_private(void);

#endif
