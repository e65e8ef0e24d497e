/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Reads a folder of segments: what is whole, what is cut and what is corrupt. Only the last segment
 * may have a torn tail; it is cut at the first entry that is torn, since the disk writes pages in
 * any order. Anything else that is torn, missing or out of order is corruption: it is named, and
 * not handed over.
 */
#ifndef STEPWISE_SEGMENTS_READ_H
#define STEPWISE_SEGMENTS_READ_H

#include "segments/segment_file.h"

#ifndef SEGMENTS_FINDINGS_MAX
#define SEGMENTS_FINDINGS_MAX 1000 /* that are kept; all are counted */
#endif

struct segments_finding {
	char file[SEGMENT_NAME_SIZE];
	bool is_cut; /* the last segment's tail; corruption otherwise */
	__u64 offset;
	__u64 bytes; /* that were not handed over; 0 where none are concerned */
	char text[160];
};

struct segments_reading {
	__u64 segments;
	__u64 entries; /* handed over */
	__u64 bytes;   /* of all files */
	__u64 cut_bytes;
	__u64 cut_whole; /* entries in there that were whole, behind one that was torn */
	__u64 corrupt;	 /* findings that are no cut */
	__u64 first;	 /* numbers of segments; 0 where there are none */
	__u64 last;
	__u64 last_size;	      /* bytes of the last one without its torn tail */
	struct segment_header header; /* of the last one */
	__u64 *numbers;		      /* of each lane, the last of that epoch */
	struct segments_finding *findings;
	size_t finding_count;
};

enum segments_depth {
	SEGMENTS_ALL,
	SEGMENTS_LAST, /* of those before the last only the headers and the sizes, and nothing of
			  them is handed over */
};

/* Some whole entries, one each segment_stride() bytes, in the order of the files. -ECANCELED, after
 * a message, ends the reading. */
typedef int segments_visitor(void *context, const unsigned char *entries, size_t count);

/*
 * 0, also where something is corrupt; or a negative errno after a message: what could not be read,
 * segments of other entries (-EMEDIUMTYPE), or what `visit` returned. `reading` is to be freed in
 * any case; visit may be NULL.
 */
int segments_read(int folder_fd, const char *folder, const struct stepwise_entries *entries,
		  enum segments_depth depth, segments_visitor *visit, void *context,
		  struct segments_reading *reading);

/* A message for each finding. -EBADMSG where something is corrupt, or 0. */
int segments_reading_say(const struct segments_reading *reading, const char *folder);
void segments_reading_free(struct segments_reading *reading);

/* Of all entries in a folder, by the sizes of its files: what to make room for. Negative after a
 * message. */
ssize_t segments_entries_max(int folder_fd, const char *folder,
			     const struct stepwise_entries *entries);

#endif
