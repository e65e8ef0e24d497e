/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include "base/files.h"
#include "base/log.h"
#include "segments/segment_reader.h"

#ifndef CHUNK_BYTES
#define CHUNK_BYTES (1u << 20)
#endif

struct reader {
	int folder_fd;
	const char *folder;
	const struct stepwise_entries *entries;
	enum segments_depth depth;
	segments_visitor *visit;
	void *context;
	struct segments_reading *reading;

	size_t stride;
	unsigned char *chunk;
	size_t chunk_size;
	__u64 *before;	 /* from the current header */
	bool *is_unsure; /* per lane: entries that could not be read may be of this lane */
	bool any;	 /* a header was read */
	/* With SEGMENTS_LAST: the required sum of the lanes' numbers in the next header. */
	__u64 counted;
	bool is_counted;
};

/* The segment that is being read. */
struct file {
	int fd;
	char name[SEGMENT_NAME_SIZE];
	__u64 number;
	__u64 size;
	bool is_last;
	__u32 seed;
	bool is_torn;			     /* only the last segment: it is cut from here on */
	struct segments_finding *open_range; /* finding for consecutive torn entries */
};

__attribute__((format(printf, 6, 7))) static struct segments_finding *
find(struct reader *reader, const char *file, bool is_cut, __u64 offset, __u64 bytes,
     const char *format, ...)
{
	struct segments_reading *reading = reader->reading;
	struct segments_finding *finding;
	va_list arguments;

	reading->corrupt += !is_cut;
	if (reading->finding_count == SEGMENTS_FINDINGS_MAX)
		return NULL;
	finding = &reading->findings[reading->finding_count++];
	*finding = (struct segments_finding){ .is_cut = is_cut, .offset = offset, .bytes = bytes };
	snprintf(finding->file, sizeof(finding->file), "%s", file);
	va_start(arguments, format);
	vsnprintf(finding->text, sizeof(finding->text), format, arguments);
	va_end(arguments);
	return finding;
}

static void set_unsure(struct reader *reader, bool unsure)
{
	for (__u32 lane = 0; lane < reader->entries->lanes; lane++)
		reader->is_unsure[lane] = unsure;
	if (unsure)
		reader->is_counted = false;
}

/* Checks that the header of a segment matches the segments before it. */
static void check_before(struct reader *reader, const struct file *file)
{
	const __u64 *numbers = reader->reading->numbers;
	__u64 sum = 0;

	for (__u32 lane = 0; lane < reader->entries->lanes; lane++) {
		sum += reader->before[lane];
		if (reader->is_counted || reader->is_unsure[lane] ||
		    numbers[lane] == reader->before[lane])
			continue;
		find(reader, file->name, false, 0, 0,
		     "its header says that lane %u ended at number %llu before it, but the lane ended at %llu",
		     lane, (unsigned long long)reader->before[lane],
		     (unsigned long long)numbers[lane]);
	}
	if (reader->is_counted && sum != reader->counted)
		find(reader, file->name, false, 0, 0,
		     "its header counts %llu numbers before it, but the files have %llu",
		     (unsigned long long)sum, (unsigned long long)reader->counted);
}

/*
 * Reads the header. Returns 1 if the entries after it are usable, 0 if they are not, or a negative
 * errno.
 */
static int read_header(struct reader *reader, struct file *file)
{
	struct segments_reading *reading = reader->reading;
	struct segment_header header = { .before = reader->before };
	const size_t lanes_size = reader->entries->lanes * sizeof(__u64);
	ssize_t size = segment_read(file->fd, reader->chunk, reader->chunk_size, 0);
	char found[160];

	if (size < 0)
		return size;
	switch (segment_header_decode(reader->entries, reader->chunk, size, &header, found)) {
	case SEGMENT_HEADER_OTHER:
		log_error(
			"cannot read %s/%s: %s; name another folder, or read it with the build that wrote it",
			reader->folder, file->name, found);
		return -EMEDIUMTYPE;
	case SEGMENT_HEADER_TORN:
		find(reader, file->name, false, 0, file->size, "%s", found);
		return 0;
	case SEGMENT_HEADER_RIGHT:
		break;
	}
	if (header.number != file->number) {
		find(reader, file->name, false, 0, file->size,
		     "its header says that it is segment %llu", (unsigned long long)header.number);
		return 0;
	}
	if (!header.epoch || header.epoch < reading->header.epoch) {
		find(reader, file->name, false, 0, file->size,
		     "it is of epoch %llu, after epoch %llu", (unsigned long long)header.epoch,
		     (unsigned long long)reading->header.epoch);
		return 0;
	}
	if (header.epoch > reading->header.epoch) {
		memset(reading->numbers, 0, lanes_size);
		reader->is_counted = false;
	}
	if (reader->any)
		check_before(reader, file);
	memcpy(reading->numbers, reader->before, lanes_size);
	memcpy(reading->header.before, reader->before, lanes_size);
	set_unsure(reader, false);
	reading->header.number = header.number;
	reading->header.epoch = header.epoch;
	reader->any = true;
	return 1;
}

/* Records an entry with a wrong checksum, or the rest of one. */
static void take_torn(struct reader *reader, struct file *file, __u64 offset, __u64 size)
{
	struct segments_finding *range = file->open_range;

	if (file->is_last) {
		file->is_torn = true;
		reader->reading->last_size = offset;
		return;
	}
	set_unsure(reader, true);
	if (range)
		range->bytes += size;
	else
		file->open_range = find(reader, file->name, false, offset, size,
					size < reader->stride ? "the file ends within an entry" :
								"the checksum is wrong");
}

/* Checks that a whole entry is where it belongs. */
static bool take_whole(struct reader *reader, struct file *file, const unsigned char *entry,
		       __u64 offset)
{
	__u64 *numbers = reader->reading->numbers;
	struct stepwise_place place;

	file->open_range = NULL;
	reader->entries->place(entry, &place);
	if (place.lane >= reader->entries->lanes || place.epoch != reader->reading->header.epoch) {
		find(reader, file->name, false, offset, reader->stride,
		     "it is of lane %u and epoch %llu, but the segment is of epoch %llu",
		     place.lane, (unsigned long long)place.epoch,
		     (unsigned long long)reader->reading->header.epoch);
		return false;
	}
	if (place.number <= numbers[place.lane]) {
		find(reader, file->name, false, offset, reader->stride,
		     "number %llu of lane %u comes after %llu", (unsigned long long)place.number,
		     place.lane, (unsigned long long)numbers[place.lane]);
		return false;
	}
	if (place.number != numbers[place.lane] + 1 && !reader->is_unsure[place.lane])
		find(reader, file->name, false, offset, 0,
		     "number %llu of lane %u comes after %llu: the numbers between are missing",
		     (unsigned long long)place.number, place.lane,
		     (unsigned long long)numbers[place.lane]);
	numbers[place.lane] = place.number;
	reader->is_unsure[place.lane] = false;
	return true;
}

static int hand_over(struct reader *reader, const unsigned char *first, const unsigned char *end)
{
	const size_t count = (end - first) / reader->stride;

	reader->reading->entries += count;
	return count && reader->visit ? reader->visit(reader->context, first, count) : 0;
}

/* Passes on runs of good entries, each with one call. */
static int read_chunk(struct reader *reader, struct file *file, const unsigned char *bytes,
		      size_t size, __u64 offset)
{
	const unsigned char *first = bytes;
	int err = 0;

	for (size_t at = 0; at < size; at += reader->stride) {
		const unsigned char *entry = bytes + at;
		const bool is_whole = size - at >= reader->stride &&
				      segment_check(file->seed, entry, reader->entries->size);

		if (file->is_torn)
			reader->reading->cut_whole += is_whole;
		else if (!is_whole)
			take_torn(reader, file, offset + at,
				  size - at < reader->stride ? size - at : reader->stride);
		if (!file->is_torn && is_whole && take_whole(reader, file, entry, offset + at))
			continue;
		err = hand_over(reader, first, entry > first ? entry : first);
		if (err)
			return err;
		first = entry + reader->stride;
	}
	return first < bytes + size ? hand_over(reader, first, bytes + size) : 0;
}

static int read_entries(struct reader *reader, struct file *file)
{
	__u64 offset = segment_header_size(reader->entries);

	file->seed = segment_seed(file->number);
	while (offset < file->size) {
		const __u64 rest = file->size - offset;
		const ssize_t size =
			segment_read(file->fd, reader->chunk,
				     rest < reader->chunk_size ? rest : reader->chunk_size, offset);
		int err = size > 0 ? read_chunk(reader, file, reader->chunk, size, offset) :
				     (int)size;

		if (err)
			return err;
		if (!size)
			break;
		offset += size;
	}
	if (!file->is_last)
		return 0;
	if (!file->is_torn)
		reader->reading->last_size = offset;
	reader->reading->cut_bytes = offset - reader->reading->last_size;
	if (file->is_torn)
		find(reader, file->name, true, reader->reading->last_size,
		     reader->reading->cut_bytes,
		     "the tail is torn, and cut from here on, with %llu whole entries behind",
		     (unsigned long long)reader->reading->cut_whole);
	return 0;
}

/* Only checks that the file has as many entries as the next header will say. */
static void count_entries(struct reader *reader, const struct file *file)
{
	const size_t header_size = segment_header_size(reader->entries);
	const __u64 size = file->size - header_size;

	if (size % reader->stride)
		find(reader, file->name, false, file->size - size % reader->stride,
		     size % reader->stride, "the file ends within an entry");
	reader->counted = size / reader->stride;
	for (__u32 lane = 0; lane < reader->entries->lanes; lane++)
		reader->counted += reader->before[lane];
	reader->is_counted = true;
}

static int read_opened(struct reader *reader, struct file *file)
{
	struct stat status;
	int right;

	if (fstat(file->fd, &status))
		return -errno;
	file->size = status.st_size;
	reader->reading->segments++;
	reader->reading->bytes += file->size;
	right = read_header(reader, file);
	if (right == 0)
		set_unsure(reader, true);
	if (right <= 0)
		return right;
	if (file->is_last || reader->depth == SEGMENTS_ALL)
		return read_entries(reader, file);
	count_entries(reader, file);
	return 0;
}

static int read_file(struct reader *reader, struct file *file)
{
	int err;

	file->fd = files_open(reader->folder_fd, reader->folder, file->name);
	if (file->fd < 0)
		return file->fd;
	err = read_opened(reader, file);
	close(file->fd);
	if (err && err != -EMEDIUMTYPE && err != -ECANCELED)
		log_error("cannot read %s/%s: %s", reader->folder, file->name, strerror(-err));
	return err;
}

static int read_folder(struct reader *reader, const __u64 *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct file file = { .fd = -1, .number = numbers[i], .is_last = i == count - 1 };
		const __u64 expected = i ? numbers[i - 1] + 1 : numbers[i];
		int err;

		if (numbers[i] != expected) {
			segment_name(file.name, expected);
			find(reader, file.name, false, 0, 0,
			     "%llu segment%s missing before %08llu.log",
			     (unsigned long long)(numbers[i] - expected),
			     numbers[i] - expected == 1 ? " is" : "s are",
			     (unsigned long long)numbers[i]);
			set_unsure(reader, true);
		}
		segment_name(file.name, numbers[i]);
		err = read_file(reader, &file);
		if (err)
			return err;
	}
	return 0;
}

static int open_reader(struct reader *reader)
{
	const __u32 lanes = reader->entries->lanes;
	struct segments_reading *reading = reader->reading;

	/* A chunk has whole entries, and is not smaller than a header. */
	reader->stride = segment_stride(reader->entries);
	reader->chunk_size = (CHUNK_BYTES / reader->stride + 1 +
			      segment_header_size(reader->entries) / reader->stride) *
			     reader->stride;
	reader->chunk = malloc(reader->chunk_size);
	reader->before = calloc(lanes, sizeof(*reader->before));
	reader->is_unsure = calloc(lanes, sizeof(*reader->is_unsure));
	reading->numbers = calloc(lanes, sizeof(*reading->numbers));
	reading->header.before = calloc(lanes, sizeof(*reading->header.before));
	reading->findings = calloc(SEGMENTS_FINDINGS_MAX, sizeof(*reading->findings));
	if (reader->chunk && reader->before && reader->is_unsure && reading->numbers &&
	    reading->header.before && reading->findings)
		return 0;
	log_error("cannot read the segments in %s: %s", reader->folder, strerror(ENOMEM));
	return -ENOMEM;
}

int segments_read(int folder_fd, const char *folder, const struct stepwise_entries *entries,
		  enum segments_depth depth, segments_visitor *visit, void *context,
		  struct segments_reading *reading)
{
	struct reader reader = { .folder_fd = folder_fd,
				 .folder = folder,
				 .entries = entries,
				 .depth = depth,
				 .visit = visit,
				 .context = context,
				 .reading = reading };
	__u64 *numbers = NULL;
	ssize_t count;
	int err;

	*reading = (struct segments_reading){};
	err = open_reader(&reader);
	count = err ? err : segment_numbers(folder_fd, folder, &numbers);
	if (count > 0) {
		reading->first = numbers[0];
		reading->last = numbers[count - 1];
		err = read_folder(&reader, numbers, count);
	}
	free(numbers);
	free(reader.chunk);
	free(reader.before);
	free(reader.is_unsure);
	return count < 0 ? (int)count : err;
}

int segments_reading_say(const struct segments_reading *reading, const char *folder)
{
	for (size_t i = 0; i < reading->finding_count; i++) {
		const struct segments_finding *finding = &reading->findings[i];

		if (finding->is_cut)
			log_warning("%s/%s at byte %llu, %llu bytes: %s", folder, finding->file,
				    (unsigned long long)finding->offset,
				    (unsigned long long)finding->bytes, finding->text);
		else
			log_error("corrupt: %s/%s at byte %llu, %llu bytes: %s", folder,
				  finding->file, (unsigned long long)finding->offset,
				  (unsigned long long)finding->bytes, finding->text);
	}
	if (reading->corrupt > reading->finding_count)
		log_error("corrupt: %llu more places in %s",
			  (unsigned long long)reading->corrupt - reading->finding_count, folder);
	return reading->corrupt ? -EBADMSG : 0;
}

void segments_reading_free(struct segments_reading *reading)
{
	free(reading->numbers);
	free(reading->header.before);
	free(reading->findings);
	*reading = (struct segments_reading){};
}

ssize_t segments_entries_max(int folder_fd, const char *folder,
			     const struct stepwise_entries *entries)
{
	ssize_t total = 0, count;
	__u64 *numbers;

	count = segment_numbers(folder_fd, folder, &numbers);
	for (ssize_t i = 0; i < count; i++) {
		char name[SEGMENT_NAME_SIZE];
		struct stat status;

		segment_name(name, numbers[i]);
		/*
		 * A file that is removed now has no entries, and neither has anything that is not a
		 * file. The reading reports which it is.
		 */
		if (!fstatat(folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) &&
		    S_ISREG(status.st_mode))
			total += status.st_size / segment_stride(entries);
	}
	free(numbers);
	return count < 0 ? count : total;
}
