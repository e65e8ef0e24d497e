/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Files in folders where somebody else may put things: what is opened is a regular file, and what
 * is made is new. All of these say on standard error why they refuse.
 */
#ifndef STEPWISE_FILES_H
#define STEPWISE_FILES_H

#include <stdio.h>
#include <sys/types.h>

/* What is not a regular file, by its mode, as a noun with its article. */
const char *files_kind(mode_t mode);

/*
 * Opens `folder`/`name` for reading. A symbolic link, and anything that is not a regular file, is
 * refused, and not waited for: a pipe without a writer would hold whoever opens it. A negative
 * errno after a message.
 */
int files_open(int folder_fd, const char *folder, const char *name);

/* The same of a path that the operator named, where links are followed. `otherwise` says what to do
 * with other files. */
int files_open_path(const char *path, const char *otherwise);

/*
 * Makes `folder`/`name`, for its owner alone. What has the name is removed first, and what takes it
 * meanwhile is refused: nothing is ever written through a name that somebody else has made.
 * folder_fd may be AT_FDCWD, with the whole path as `name` and NULL as `folder`. A negative errno
 * after a message, which ends with `remedy(err)` where that is not NULL.
 */
int files_make(int folder_fd, const char *folder, const char *name, const char *(*remedy)(int err));

/* All that comes in a stream, in a file without a name, which is at its begin; NULL after a
 * message. `name`: of the stream. */
FILE *files_spool(FILE *stream, const char *name);

#endif
