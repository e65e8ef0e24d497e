/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The folder of segments, and who writes to it: the daemon that holds the file `claim` in it
 * (F_OFD_SETLK). That file is its owner's alone, so that nobody else can hold it; whoever may open
 * it sees whether somebody does.
 */
#ifndef STEPWISE_SEGMENTS_FOLDER_H
#define STEPWISE_SEGMENTS_FOLDER_H

#include <stdbool.h>

struct segments_folder {
	int fd;	      /* of the folder */
	int claim_fd; /* which holds it for as long as it is open, and with it all threads */
};

/*
 * Opens a folder to write to, as the user that this process is; makes it, for that user alone,
 * where there is none. One that others can enter, and that was not made here, is used as it is,
 * after a warning. A negative errno after a message: -EEXIST where another daemon has it.
 */
int segments_folder_claim(struct segments_folder *folder, const char *path);
void segments_folder_close(struct segments_folder *folder);

/*
 * Opens a folder that is only looked at. *is_written: a daemon has it, or that cannot be told. A
 * negative errno after a message.
 */
int segments_folder_open(const char *path, bool *is_written);

#endif
