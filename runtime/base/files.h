/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Files in folders where others may create files too. Only regular files are opened, and only new
 * files are written. On a refusal, each function reports the reason on standard error.
 */
#ifndef STEPWISE_FILES_H
#define STEPWISE_FILES_H

#include <stdio.h>
#include <sys/types.h>

/* Names the kind of a file that is not regular, by its mode: a noun with its article. */
const char *files_kind(mode_t mode);

/*
 * Opens `folder`/`name` for reading. Refuses a symbolic link and anything else that is not a
 * regular file. Does not wait for it: a pipe without a writer would block the caller. Returns a
 * negative errno after a message.
 */
int files_open(int folder_fd, const char *folder, const char *name);

/*
 * Like files_open(), for a path that the operator named. Links are followed. `otherwise` says what
 * to do about other files.
 */
int files_open_path(const char *path, const char *otherwise);

/*
 * Creates `folder`/`name`, which only its owner can access. Removes an existing file of that name
 * first. Fails if somebody takes the name meanwhile: nothing is ever written through a name that
 * somebody else created. folder_fd may be AT_FDCWD, with the whole path as `name` and NULL as
 * `folder`. Returns a negative errno after a message, which ends with `remedy(err)` unless `remedy`
 * is NULL.
 */
int files_make(int folder_fd, const char *folder, const char *name, const char *(*remedy)(int err));

/*
 * Copies a whole stream to a file without a name, and rewinds it. `name` is the stream's. Returns
 * NULL after a message.
 */
FILE *files_spool(FILE *stream, const char *name);

#endif
