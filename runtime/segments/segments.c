/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "base/log.h"
#include "segments/segment_reader.h"
#include "segments/segments.h"
#include "segments/segments_folder.h"

struct segments {
	const struct stepwise_entries *entries;
	char *folder;
	struct segments_folder opened;
	int fd;	      /* the last segment; -1 if there is none */
	__u64 number; /* of the last segment */
	__u64 epoch;
	__u64 size; /* of its header and its whole entries, in bytes */
	__u32 seed;
	__u64 *numbers; /* for each lane, the last number in a file */
	__u64 *next;	/* the same, updated while entries are written */
};

/* A file that replaces a segment when it is complete. */
struct replacement {
	char name[SEGMENT_NAME_SIZE];
	int fd;
	__u64 size;
	size_t stride;
};

static int say(const struct segments *segments, const char *doing, const char *name, int err,
	       const char *remedy)
{
	log_error("cannot %s %s/%s: %s%s", doing, segments->folder, name, strerror(-err), remedy);
	return err;
}

bool segments_no_room(int err)
{
	return err == -ENOSPC || err == -EDQUOT || err == -EFBIG;
}

static const char *remedy_of(int err)
{
	return segments_no_room(err) ?
		       "; make room there: `truncate` removes segments that were applied elsewhere" :
		       "";
}

/* In the segment's name NNNNNNNN.log, replaces .log by .new. */
static void replacement_name(char name[SEGMENT_NAME_SIZE], __u64 number)
{
	segment_name(name, number);
	memcpy(name + SEGMENT_NAME_SIZE - sizeof("new"), "new", sizeof("new"));
}

static int replacement_begin(struct segments *segments, const struct segment_header *header,
			     struct replacement *replacement)
{
	const size_t size = segment_header_size(segments->entries);
	unsigned char *bytes = malloc(size);
	int err = -ENOMEM;

	replacement_name(replacement->name, header->number);
	replacement->fd = -1;
	replacement->size = size;
	replacement->stride = segment_stride(segments->entries);
	if (bytes) {
		segment_header_encode(segments->entries, header, bytes);
		replacement->fd = files_make(segments->opened.fd, segments->folder,
					     replacement->name, remedy_of);
		err = replacement->fd < 0 ? replacement->fd :
					    segment_write(replacement->fd, bytes, size, 0);
	}
	free(bytes);
	return err && (!bytes || replacement->fd >= 0) ?
		       say(segments, "write", replacement->name, err, remedy_of(err)) :
		       err;
}

/* Syncs the file, renames it to the segment's name, and syncs the folder. */
static int replacement_end(const struct segments *segments, const struct replacement *replacement,
			   __u64 number)
{
	char name[SEGMENT_NAME_SIZE];
	int err;

	segment_name(name, number);
	if (fsync(replacement->fd)) {
		err = -errno;
		return say(segments, "sync", replacement->name, err, remedy_of(err));
	}
	if (renameat(segments->opened.fd, replacement->name, segments->opened.fd, name))
		return say(segments, "rename to a segment", replacement->name, -errno, "");
	if (fsync(segments->opened.fd))
		return say(segments, "sync the folder after renaming", name, -errno, "");
	return 0;
}

static void replacement_discard(const struct segments *segments,
				const struct replacement *replacement)
{
	if (replacement->fd < 0)
		return;
	close(replacement->fd);
	unlinkat(segments->opened.fd, replacement->name, 0);
}

/* Makes the new file the last segment. */
static void adopt(struct segments *segments, const struct segment_header *header,
		  const struct replacement *replacement)
{
	if (segments->fd >= 0)
		close(segments->fd);
	segments->fd = replacement->fd;
	segments->number = header->number;
	segments->epoch = header->epoch;
	segments->size = replacement->size;
	segments->seed = segment_seed(header->number);
}

static int begin_segment(struct segments *segments, __u64 epoch, __u64 *before)
{
	const struct segment_header header = { .number = segments->number + 1,
					       .epoch = epoch,
					       .before = before };
	struct replacement replacement;
	int err;

	if (header.number > SEGMENT_NUMBER_MAX) {
		log_error(
			"cannot start another segment in %s: %08u.log is the last possible one; purge the tables and name another folder",
			segments->folder, SEGMENT_NUMBER_MAX);
		return -EOVERFLOW;
	}
	err = replacement_begin(segments, &header, &replacement) ?:
		      replacement_end(segments, &replacement, header.number);
	if (err)
		replacement_discard(segments, &replacement);
	else
		adopt(segments, &header, &replacement);
	return err;
}

/* --- Opening ---------------------------------------------------------------------------------- */

struct copying {
	struct segments *segments;
	struct replacement replacement;
	struct segments_reading *reading;
	bool begun;
};

/* Deferred, because the header is known only when the first entries arrive. */
static int copy_begin(struct copying *copying)
{
	if (copying->begun)
		return 0;
	copying->begun = true;
	return replacement_begin(copying->segments, &copying->reading->header,
				 &copying->replacement);
}

static int copy(void *context, const unsigned char *entries, size_t count)
{
	struct copying *copying = context;
	struct replacement *replacement = &copying->replacement;
	int err = copy_begin(copying);

	if (err)
		return -ECANCELED;
	err = segment_write(replacement->fd, entries, count * replacement->stride,
			    replacement->size);
	if (err) {
		say(copying->segments, "copy a segment to", replacement->name, err, remedy_of(err));
		return -ECANCELED;
	}
	replacement->size += count * replacement->stride;
	return 0;
}

static int refuse_corrupt(const struct segments *segments, const struct segments_reading *reading)
{
	for (size_t i = 0; i < reading->finding_count; i++) {
		const struct segments_finding *finding = &reading->findings[i];

		if (finding->is_cut)
			continue;
		log_error(
			"cannot write to %s: it is corrupt in %llu place%s, first %s at byte %llu: %s; `recover` reads all whole entries; to continue, name another folder and purge the tables",
			segments->folder, (unsigned long long)reading->corrupt,
			reading->corrupt == 1 ? "" : "s", finding->file,
			(unsigned long long)finding->offset, finding->text);
		return -EBADMSG;
	}
	return 0;
}

static void say_cut(const struct segments *segments, const struct segments_reading *reading)
{
	if (reading->cut_bytes)
		log_info(
			"cut the torn tail of %s/%08llu.log at byte %llu: %llu bytes, with %llu whole entries behind the first torn one; none of these was acknowledged as on the disk",
			segments->folder, (unsigned long long)reading->last,
			(unsigned long long)reading->last_size,
			(unsigned long long)reading->cut_bytes,
			(unsigned long long)reading->cut_whole);
}

static int copy_last(struct segments *segments)
{
	struct segments_reading reading;
	struct copying copying = { .segments = segments,
				   .replacement.fd = -1,
				   .reading = &reading };
	int err = segments_read(segments->opened.fd, segments->folder, segments->entries,
				SEGMENTS_LAST, copy, &copying, &reading);

	if (!err)
		err = refuse_corrupt(segments, &reading);
	if (!err && reading.segments)
		err = copy_begin(&copying) ?:
			      replacement_end(segments, &copying.replacement, reading.last);
	if (!err && reading.segments) {
		say_cut(segments, &reading);
		adopt(segments, &reading.header, &copying.replacement);
		memcpy(segments->numbers, reading.numbers,
		       segments->entries->lanes * sizeof(*segments->numbers));
	} else {
		replacement_discard(segments, &copying.replacement);
	}
	segments_reading_free(&reading);
	return err;
}

/* Removes the unfinished files of an earlier daemon. */
static void remove_replacements(const struct segments *segments, __u64 last)
{
	char name[SEGMENT_NAME_SIZE];

	for (__u64 number = last; number <= last + 1; number++) {
		replacement_name(name, number);
		if (unlinkat(segments->opened.fd, name, 0) == 0)
			log_debug("removed %s/%s, which was not complete", segments->folder, name);
	}
}

static int open_segments(struct segments *segments)
{
	__u64 *numbers;
	ssize_t count;
	int err = segments_folder_claim(&segments->opened, segments->folder);

	if (err)
		return err;
	count = segment_numbers(segments->opened.fd, segments->folder, &numbers);
	if (count < 0)
		return count;
	remove_replacements(segments, count ? numbers[count - 1] : 0);
	free(numbers);
	return copy_last(segments);
}

int segments_open(const char *folder, const struct stepwise_entries *entries,
		  struct segments **opened)
{
	struct segments *segments = calloc(1, sizeof(*segments));
	int err = -ENOMEM;

	*opened = NULL;
	if (segments) {
		segments->entries = entries;
		segments->opened = (struct segments_folder){ .fd = -1, .claim_fd = -1 };
		segments->fd = -1;
		segments->folder = strdup(folder);
		segments->numbers = calloc(entries->lanes, sizeof(*segments->numbers));
		segments->next = calloc(entries->lanes, sizeof(*segments->next));
	}
	if (!segments || !segments->folder || !segments->numbers || !segments->next)
		log_error("cannot open the folder of segments %s: %s", folder, strerror(-err));
	else
		err = open_segments(segments);
	if (err)
		segments_close(segments);
	else
		*opened = segments;
	return err;
}

void segments_close(struct segments *segments)
{
	if (!segments)
		return;
	if (segments->fd >= 0)
		close(segments->fd);
	segments_folder_close(&segments->opened);
	free(segments->folder);
	free(segments->numbers);
	free(segments->next);
	free(segments);
}

/* --- Writing ---------------------------------------------------------------------------------- */

__u64 segments_epoch(const struct segments *segments)
{
	return segments->epoch;
}

__u64 segments_number(const struct segments *segments, __u32 lane)
{
	return segments->numbers[lane];
}

size_t segments_stride(const struct segments *segments)
{
	return segment_stride(segments->entries);
}

__u64 segments_size(const struct segments *segments)
{
	return segments->size;
}

int segments_begin_epoch(struct segments *segments, __u64 epoch)
{
	const size_t size = segments->entries->lanes * sizeof(*segments->numbers);
	int err;

	memset(segments->next, 0, size);
	err = begin_segment(segments, epoch, segments->next);
	if (!err)
		memcpy(segments->numbers, segments->next, size);
	return err;
}

int segments_rotate(struct segments *segments)
{
	return begin_segment(segments, segments->epoch, segments->numbers);
}

/* Detects a missing record before it is written, and not only when someone misses it. */
static int check_order(struct segments *segments, const unsigned char *entries, size_t count,
		       size_t stride)
{
	memcpy(segments->next, segments->numbers,
	       segments->entries->lanes * sizeof(*segments->next));
	for (size_t i = 0; i < count; i++) {
		struct stepwise_place place;

		segments->entries->place(entries + i * stride, &place);
		if (place.lane >= segments->entries->lanes || place.epoch != segments->epoch ||
		    place.number != segments->next[place.lane] + 1) {
			log_error(
				"cannot append to %s/%08llu.log: number %llu of lane %u in epoch %llu does not follow %llu in epoch %llu; these files were not written from these tables: purge the tables, or name their folder",
				segments->folder, (unsigned long long)segments->number,
				(unsigned long long)place.number, place.lane,
				(unsigned long long)place.epoch,
				place.lane < segments->entries->lanes ?
					(unsigned long long)segments->next[place.lane] :
					0ull,
				(unsigned long long)segments->epoch);
			return -EBADMSG;
		}
		segments->next[place.lane] = place.number;
	}
	return 0;
}

int segments_append(struct segments *segments, unsigned char *entries, size_t count)
{
	const size_t stride = segments_stride(segments);
	char name[SEGMENT_NAME_SIZE];
	int err = check_order(segments, entries, count, stride);

	if (err)
		return err;
	for (size_t i = 0; i < count; i++)
		segment_check_set(segments->seed, entries + i * stride, segments->entries->size);
	err = segment_write(segments->fd, entries, count * stride, segments->size);
	if (!err) {
		segments->size += count * stride;
		memcpy(segments->numbers, segments->next,
		       segments->entries->lanes * sizeof(*segments->numbers));
		return 0;
	}
	segment_name(name, segments->number);
	/* Cut the part that was written. It must not stay behind what is written instead. */
	if (ftruncate(segments->fd, segments->size))
		return say(segments, "cut the incomplete end of", name, -errno, "");
	return segments_no_room(err) ? err :
				       say(segments, "write to", name, err,
					   "; its entries so far can be recovered");
}

int segments_sync(struct segments *segments)
{
	char name[SEGMENT_NAME_SIZE];

	if (fdatasync(segments->fd) == 0)
		return 0;
	segment_name(name, segments->number);
	return say(
		segments, "sync", name, -errno,
		"; entries that were not yet synced may be lost: check the disk and start again, which copies the rest");
}

/* --- Commands --------------------------------------------------------------------------------- */

/*
 * Checks by its header that a segment has entries of this layout. Fails if the header cannot be
 * read.
 */
static int check_first(int folder_fd, const char *folder, const struct stepwise_entries *entries,
		       __u64 number)
{
	const size_t size = segment_header_size(entries);
	struct segment_header header = { .before = calloc(entries->lanes, sizeof(__u64)) };
	unsigned char *bytes = malloc(size);
	char name[SEGMENT_NAME_SIZE], found[160] = "";
	enum segment_header_is is = SEGMENT_HEADER_TORN;
	int fd;

	segment_name(name, number);
	fd = files_open(folder_fd, folder, name);
	if (fd >= 0 && bytes && header.before) {
		const ssize_t count = segment_read(fd, bytes, size, 0);

		is = segment_header_decode(entries, bytes, count < 0 ? 0 : count, &header, found);
	}
	if (fd >= 0)
		close(fd);
	free(bytes);
	free(header.before);
	if (is == SEGMENT_HEADER_RIGHT || fd < 0)
		return fd < 0 ? fd : 0;
	log_error("cannot remove segments from %s: %s does not belong to this %s: %s", folder, name,
		  entries->protocol, *found ? found : "it cannot be read");
	return -EMEDIUMTYPE;
}

int segments_truncate(const char *folder, const struct stepwise_entries *entries, __u64 number)
{
	__u64 *numbers = NULL;
	int err = 0, removed = 0;
	ssize_t count;
	bool is_written;
	const int folder_fd = segments_folder_open(folder, &is_written);

	if (folder_fd < 0)
		return folder_fd;
	count = segment_numbers(folder_fd, folder, &numbers);
	if (count > 0)
		err = check_first(folder_fd, folder, entries, numbers[count - 1]);
	/* Remove the oldest first. So whenever this ends, the rest has no gap. */
	for (ssize_t i = 0; !err && i < count - 1 && numbers[i] < number; i++) {
		char name[SEGMENT_NAME_SIZE];

		segment_name(name, numbers[i]);
		/*
		 * Sync after each. Otherwise, after a crash of the machine, a later segment may be
		 * missing while an older one is there again.
		 */
		if (unlinkat(folder_fd, name, 0) || fsync(folder_fd)) {
			err = -errno;
			log_error("cannot remove %s/%s: %s", folder, name, strerror(-err));
		}
		removed += !err;
	}
	free(numbers);
	close(folder_fd);
	return err ? err : count < 0 ? (int)count : removed;
}
