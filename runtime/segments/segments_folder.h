/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The folder of segments, and which daemon writes to it: the one that holds a lock on the file
 * `claim` in it (F_OFD_SETLK). Only its owner can open that file, so nobody else can hold it. Any
 * process that can open it can see whether a daemon holds it.
 */
#ifndef STEPWISE_SEGMENTS_FOLDER_H
#define STEPWISE_SEGMENTS_FOLDER_H

#include <stdbool.h>

struct segments_folder {
	int fd;	      /* of the folder */
	int claim_fd; /* holds the claim for all threads, as long as it is open */
};

/*
 * Opens a folder for writing, as the user that this process is. Creates it if there is none, and
 * only that user can enter it. If the folder existed and others can enter it, uses it as it is,
 * after a warning. Returns a negative errno after a message: -EEXIST if another daemon has it.
 */
int segments_folder_claim(struct segments_folder *folder, const char *path);
void segments_folder_close(struct segments_folder *folder);

/*
 * Opens a folder for reading. *is_written: a daemon has it, or that is unknown. Returns a negative
 * errno after a message.
 */
int segments_folder_open(const char *path, bool *is_written);

#endif
