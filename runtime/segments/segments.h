/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The folder of segments that a daemon writes to. All lanes share one series of files. A segment is
 * started when all of the last one is synced, so only the tail of the last one can be torn. One
 * thread appends and rotates. Another thread may sync, but not while a segment is started.
 */
#ifndef STEPWISE_SEGMENTS_H
#define STEPWISE_SEGMENTS_H

#include <stdbool.h>

#include "stepwise_drain.h"

struct segments;

/*
 * Opens a folder like segments_folder_claim(), as the user that this process is now, for this
 * process alone. Cuts the torn tail of the last segment, and copies the rest to another file, which
 * is synced and replaces it. The copy is needed because the old file may show pages that never
 * reached the disk: the kernel reported that to an earlier process, and would not repeat it.
 * Returns a negative errno, after a message, with *segments NULL; also if a segment is corrupt or
 * has other entries.
 */
int segments_open(const char *folder, const struct stepwise_entries *entries,
		  struct segments **segments);
void segments_close(struct segments *segments);

/*
 * The epoch of the last segment, 0 if there is none; and for each lane, the last number of that
 * epoch in a file.
 */
__u64 segments_epoch(const struct segments *segments);
__u64 segments_number(const struct segments *segments, __u32 lane);

/*
 * Starts a segment of a new epoch. The segment is on the disk when this returns. Returns a negative
 * errno after a message.
 */
int segments_begin_epoch(struct segments *segments, __u64 epoch);

/*
 * Returns the bytes from one entry to the next in the argument of segments_append(). The checksum,
 * which that sets, has its place after each entry.
 */
size_t segments_stride(const struct segments *segments);

/*
 * Appends entries. Afterwards they survive a kill of the process. -ENOSPC, -EDQUOT and -EFBIG,
 * without a message, mean that there is no room now: the file is unchanged, and the caller may try
 * again. After any other negative errno, which follows a message, the caller must stop; for
 * example, -EBADMSG for entries that do not continue where the files end.
 */
int segments_append(struct segments *segments, unsigned char *entries, size_t count);

/* True for one of these three. */
bool segments_no_room(int err);

/*
 * Returns the bytes of the header and whole entries of the last segment. A sync that starts
 * afterwards covers all of them.
 */
__u64 segments_size(const struct segments *segments);

/*
 * Calls fdatasync() for the last segment. After a negative errno, which follows a message, the
 * caller must stop: the next sync would not report the error again.
 */
int segments_sync(struct segments *segments);

/* Starts another segment. All of the last one must be synced, and no sync may be running. */
int segments_rotate(struct segments *segments);

/*
 * Removes the segments before `number`, but never the last one. A daemon may be writing to it.
 * Returns how many it removed, or a negative errno after a message.
 */
int segments_truncate(const char *folder, const struct stepwise_entries *entries, __u64 number);

#endif
