/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Takes records from the tables to segment files. One thread takes and writes, another one syncs what was written: a
 * sync takes milliseconds, in which a lane may be filled. What of this is in which order is what the models of a
 * protocol with a drain rest on:
 *
 *   a record is taken, then written, then its lane's `written` mark moves, and only then is the next one looked for;
 *   a sync covers what was written when it began, and that alone is what the `synced` mark moves to;
 *   a segment is begun when all of the last one is synced, and no sync is under way;
 *   a sync that fails ends the daemon.
 */
#ifndef STEPWISE_DRAIN_THREADS_H
#define STEPWISE_DRAIN_THREADS_H

#include "daemon_file.h"

struct drain;

/*
 * Opens the folder, cuts its last segment, and brings the tables to where the files end; tables that are new begin an
 * epoch, which is on the disk before a lane is opened. NULL after a message: also where folder and tables are not of
 * one another.
 */
struct drain *drain_open(const struct stepwise_protocol *protocol, const char *folder, struct daemon_statistics *statistics);

/* Begins the threads, as the user that the daemon is by now. A negative errno after a message. */
int drain_begin(struct drain *drain);

/* Readable when a sync has ended or all has; drain_ended() reads it: a negative errno, after a message, when the daemon must end. */
int drain_fd(const struct drain *drain);
int drain_ended(struct drain *drain);

/* Writes and syncs what is there at this moment, unless something has failed, and ends the threads. */
void drain_close(struct drain *drain);

#endif
