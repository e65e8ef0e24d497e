/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Takes records from the tables to segment files. One thread takes and writes, another one syncs
 * what was written: a sync takes milliseconds, in which a lane may be filled. What of this is in
 * which order is what the models of a protocol with a drain rest on:
 *
 *   a record is taken, then written, then its lane's `written` mark moves, and only then is the
 * next one looked for; a sync covers what was written when it began, and that alone is what the
 * `synced` mark moves to; a segment is begun when all of the last one is synced, and no sync is
 * under way; a sync that fails ends the daemon.
 */
#ifndef STEPWISE_DRAIN_THREADS_H
#define STEPWISE_DRAIN_THREADS_H

#include "state/daemon_file.h"

struct drain;

/* Opens what takes privilege: the tables. NULL after a message. */
struct drain *drain_open(const struct stepwise_protocol *protocol,
			 struct daemon_statistics *statistics);

/* Whether this process, with the privileges that it has by now, may read them. */
bool drain_may_run(const struct drain *drain);

/*
 * Opens the folder, as the user that the daemon is by now and with that user's rights alone:
 * whoever owns a folder can put links into it. Cuts its last segment, and brings the tables to
 * where the files end; tables that are new begin an epoch, which is on the disk before a lane is
 * opened. Then begins the threads. A negative errno after a message: also where folder and tables
 * are not of one another.
 */
int drain_begin(struct drain *drain, const char *folder);

/* Readable when a sync has ended or all has; drain_ended() reads it: a negative errno, after a
 * message, when the daemon must end. */
int drain_fd(const struct drain *drain);
int drain_ended(struct drain *drain);

/* Writes and syncs what is there at this moment, unless something has failed, and ends the threads.
 */
void drain_close(struct drain *drain);

#endif
