/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The folder of segments that a daemon writes to. One row of files for all lanes: a segment is
 * begun when all of the last one is synced, so that only the tail of the last one can be torn. What
 * appends and rotates is one thread; what syncs may be another one, but not while a segment is
 * begun.
 */
#ifndef STEPWISE_SEGMENTS_H
#define STEPWISE_SEGMENTS_H

#include <stdbool.h>

#include "stepwise_drain.h"

struct segments;

/*
 * Opens a folder, as segments_folder_claim() does: as the user that this process is by now, for
 * this process alone. Cuts the torn tail of the last segment, copies what is left to another file,
 * which is synced and takes its place: what the kernel has given up of the old one, without a word
 * to a process that was not there, it would still show. A negative errno, after a message, with
 * *segments NULL: also where a segment is corrupt, or of other entries.
 */
int segments_open(const char *folder, const struct stepwise_entries *entries,
		  struct segments **segments);
void segments_close(struct segments *segments);

/* Of the last segment; 0 where there is none. And of each lane, the last number of that epoch that
 * is in a file. */
__u64 segments_epoch(const struct segments *segments);
__u64 segments_number(const struct segments *segments, __u32 lane);

/* Begins a segment of a new epoch, which is on the disk when this returns. A negative errno after a
 * message. */
int segments_begin_epoch(struct segments *segments, __u64 epoch);

/* Bytes from one entry to the next in what is appended: its checksum, which is set here, has its
 * place behind it. */
size_t segments_stride(const struct segments *segments);

/*
 * Writes entries behind the last one, which is when a process that is killed does not take them
 * along. -ENOSPC, -EDQUOT and -EFBIG, without a message: there is no room now, the file is as it
 * was, and it may be tried again. Another negative errno, after a message, is the end: entries that
 * do not go on where the files end (-EBADMSG) among others.
 */
int segments_append(struct segments *segments, unsigned char *entries, size_t count);

/* Whether an errno is one of these three. */
bool segments_no_room(int err);

/* Bytes of the last segment; of its whole entries, which are all on the disk when a sync that began
 * then has ended. */
__u64 segments_size(const struct segments *segments);

/* fdatasync() of the last segment. A negative errno, after a message, is the end: the next sync
 * would not say it again. */
int segments_sync(struct segments *segments);

/* Begins another segment. All of the last one must be synced, and no sync be under way. */
int segments_rotate(struct segments *segments);

/*
 * Removes the segments before `number`, never the last one; a daemon may be writing to it. How
 * many; a negative errno after a message.
 */
int segments_truncate(const char *folder, const struct stepwise_entries *entries, __u64 number);

#endif
