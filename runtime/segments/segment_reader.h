/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Reads a folder of segments, and sorts out what is whole, cut or corrupt. Only the last segment
 * may have a torn tail. It is cut at the first torn entry, because the disk writes pages in any
 * order. Anything else that is torn, missing or out of order is corrupt: it is reported, and not
 * passed on.
 */
#ifndef STEPWISE_SEGMENT_READER_H
#define STEPWISE_SEGMENT_READER_H

#include "segments/segment_file.h"

#ifndef SEGMENTS_FINDINGS_MAX
#define SEGMENTS_FINDINGS_MAX 1000 /* maximum number that is kept; all are counted */
#endif

struct segments_finding {
	char file[SEGMENT_NAME_SIZE];
	bool is_cut; /* the tail of the last segment; otherwise corruption */
	__u64 offset;
	__u64 bytes; /* bytes that were not passed on; 0 if none are affected */
	char text[160];
};

struct segments_reading {
	__u64 segments;
	__u64 entries; /* entries passed on */
	__u64 bytes;   /* size of all files */
	__u64 cut_bytes;
	__u64 cut_whole; /* whole entries in the cut tail, after a torn one */
	__u64 corrupt;	 /* findings that are not cuts */
	__u64 first;	 /* number of the first segment; 0 if there is none */
	__u64 last;
	__u64 last_size;	      /* size of the last one in bytes, without its torn tail */
	struct segment_header header; /* header of the last segment */
	__u64 *numbers;		      /* for each lane, the last number of that epoch */
	struct segments_finding *findings;
	size_t finding_count;
};

enum segments_depth {
	SEGMENTS_ALL,
	/*
	 * Checks only headers and sizes of the segments before the last, and passes on nothing of
	 * them.
	 */
	SEGMENTS_LAST,
};

/*
 * Receives some whole entries, segment_stride() bytes apart, in the order of the files. Returning
 * -ECANCELED, after a message, ends the reading.
 */
typedef int segments_visitor(void *context, const unsigned char *entries, size_t count);

/*
 * Reads all segments. Returns 0, even if something is corrupt. Returns a negative errno, after a
 * message, if a file could not be read or segments have other entries (-EMEDIUMTYPE), or the result
 * of `visit` if that failed. The caller must free `reading` in any case. `visit` may be NULL.
 */
int segments_read(int folder_fd, const char *folder, const struct stepwise_entries *entries,
		  enum segments_depth depth, segments_visitor *visit, void *context,
		  struct segments_reading *reading);

/* Prints a message for each finding. Returns -EBADMSG if something is corrupt, else 0. */
int segments_reading_say(const struct segments_reading *reading, const char *folder);
void segments_reading_free(struct segments_reading *reading);

/*
 * Returns the maximum number of entries in a folder, by the sizes of its files, so that the caller
 * can make room. Returns a negative errno after a message.
 */
ssize_t segments_entries_max(int folder_fd, const char *folder,
			     const struct stepwise_entries *entries);

#endif
