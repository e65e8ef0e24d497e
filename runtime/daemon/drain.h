/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Drains records from the tables to segment files. One thread takes and writes, and another thread
 * syncs, because a lane may fill up during a sync, which takes milliseconds. The models of a
 * protocol with a drain rely on this order:
 *
 * - A record is taken, then written. Then its lane's `written` mark moves. Only then is the next
 *   record looked for.
 * - A sync covers what was written when it started, and the `synced` mark moves to exactly that.
 * - A segment is started when all of the last one is synced and no sync is running.
 * - A sync that fails ends the daemon.
 */
#ifndef STEPWISE_DRAIN_THREADS_H
#define STEPWISE_DRAIN_THREADS_H

#include "state/run_state.h"

struct drain;

/* Opens the tables, which takes privilege. Returns NULL after a message. */
struct drain *drain_open(const struct stepwise_protocol *protocol,
			 struct daemon_statistics *statistics);

/* True if this process may still read the tables with the privileges that it has now. */
bool drain_may_run(const struct drain *drain);

/*
 * Opens the folder, as the user that the daemon is now and with only that user's rights, because
 * the owner of a folder can put links into it. Cuts the folder's last segment, and updates the
 * tables to where the files end. New tables start an epoch, which is on the disk before any lane is
 * opened. Then starts the threads. Returns a negative errno after a message, also if folder and
 * tables do not belong together.
 */
int drain_begin(struct drain *drain, const char *folder);

/*
 * Becomes readable when a sync or the whole drain has ended. drain_ended() reads it, and returns a
 * negative errno after a message if the daemon must end.
 */
int drain_fd(const struct drain *drain);
int drain_ended(struct drain *drain);

/*
 * Writes and syncs the records that are there now, unless something failed before. Then stops the
 * threads.
 */
void drain_close(struct drain *drain);

#endif
