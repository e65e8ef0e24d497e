/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Reads a folder of made-up segments of the log (generated/log) as the commands and the daemon do.
 * An input consists of pieces, one for each file: a byte of flags (bit 0: a number is left out
 * before the file), two bytes of the file's size, and its bytes.
 *
 * Entries must be handed over in order, each of its lane and epoch, and be counted. The last
 * segment alone must say the same as all of them. A folder that is not corrupt must open for
 * writing, which cuts and copies the last segment. It must then be whole, with the same entries.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include "log_user.c"

#include "base/crc32c.h"
#include "holds.h"
#include "segments/recovery.h"
#include "segments/segment_reader.h"
#include "segments/segments.h"
#include "segments/segments_folder.h"

#define FILES_MAX 5
#define PIECE_SIZE 3
#define HEADER_SIZE (48 + 8 * LANES + 4)
#define STRIDE (LOG_ENTRY_SIZE + 4)
#define LANES LOG_CAPACITY_HEAD

static const char *folder; /* made and removed by the command */

/* --- An input's files ------------------------------------------------------------------------- */

struct piece {
	__u64 number;
	size_t at;
	size_t size;
};

static size_t split(const uint8_t *data, size_t size, struct piece pieces[FILES_MAX])
{
	__u64 number = 0;
	size_t count = 0;

	for (size_t at = 0; count < FILES_MAX && size - at > PIECE_SIZE; count++) {
		const size_t wanted = stepwise_get(data + at + 1, 2), left = size - at - PIECE_SIZE;

		number += 1 + (data[at] & 1);
		pieces[count] = (struct piece){ .number = number,
						.at = at + PIECE_SIZE,
						.size = wanted < left ? wanted : left };
		at += PIECE_SIZE + pieces[count].size;
	}
	return count;
}

/* The files of the last input, by their numbers; -1 if there is none. */
static int files[2 * FILES_MAX + 1];

static void forget_files(int folder_fd)
{
	char name[SEGMENT_NAME_SIZE];

	for (__u64 number = 0; number < sizeof(files) / sizeof(files[0]); number++) {
		segment_name(name, number);
		unlinkat(folder_fd, name, 0);
		if (files[number] > 0)
			close(files[number]);
		files[number] = -1;
	}
}

static int open_folder(void)
{
	static int fd = -1;

	if (fd >= 0)
		return fd;
	folder = getenv("STEPWISE_READERS");
	if (!folder) {
		fprintf(stderr,
			"parsers: STEPWISE_READERS names no folder for the files of an input\n");
		exit(1);
	}
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	forget_files(fd);
	return fd;
}

static void write_file(int folder_fd, __u64 number, const uint8_t *bytes, size_t size)
{
	char name[SEGMENT_NAME_SIZE];

	segment_name(name, number);
	if (files[number] < 0)
		files[number] =
			openat(folder_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (files[number] < 0 || pwrite(files[number], bytes, size, 0) != (ssize_t)size ||
	    ftruncate(files[number], (off_t)size))
		abort();
}

/* Overwrites the files, since to make a file takes longer than to read it. */
static void write_files(int folder_fd, const uint8_t *data, const struct piece *pieces,
			size_t count)
{
	char name[SEGMENT_NAME_SIZE];
	size_t next = 0;

	for (__u64 number = 1; number < sizeof(files) / sizeof(files[0]); number++) {
		if (next < count && pieces[next].number == number) {
			write_file(folder_fd, number, data + pieces[next].at, pieces[next].size);
			next++;
		} else if (files[number] >= 0) {
			segment_name(name, number);
			unlinkat(folder_fd, name, 0);
			close(files[number]);
			files[number] = -1;
		}
	}
}

/* --- What must hold --------------------------------------------------------------------------- */

struct visited {
	__u64 entries;
	__u64 segment;
	__u64 epoch;
	__u64 numbers[LANES];
	__u32 sum; /* checksum of all entries, in order */
	const struct segments_reading *reading;
	struct recovery *recovery;
};

static int visit(void *context, const unsigned char *entries, size_t count)
{
	struct visited *visited = context;

	check(count > 0, "a part has at least one entry");
	/* A header that contradicts the entries before it is corrupt, but the reader goes on from
	 * it. */
	if (visited->segment != visited->reading->header.number && visited->reading->corrupt)
		memcpy(visited->numbers, visited->reading->header.before, sizeof(visited->numbers));
	visited->segment = visited->reading->header.number;
	for (size_t i = 0; i < count; i++) {
		struct stepwise_place place;

		log_entry_place(entries + i * STRIDE, &place);
		check(place.lane < LANES && place.epoch && place.epoch >= visited->epoch,
		      "an entry is of a lane, and of no older epoch");
		if (place.epoch > visited->epoch && !visited->reading->corrupt)
			memset(visited->numbers, 0, sizeof(visited->numbers));
		visited->epoch = place.epoch;
		check(place.number > visited->numbers[place.lane], "numbers of a lane rise");
		visited->numbers[place.lane] = place.number;
		visited->sum = crc32c(visited->sum, entries + i * STRIDE, LOG_ENTRY_SIZE);
	}
	visited->entries += count;
	return visited->recovery ? recovery_take(visited->recovery, entries, count) : 0;
}

/* Reads all files; returns false if they are of other entries. */
static bool read_all(int folder_fd, bool recovers, struct visited *visited,
		     struct segments_reading *reading)
{
	const ssize_t entries_max =
		recovers ? segments_entries_max(folder_fd, folder, &log_entries) : 0;
	int err;

	*visited = (struct visited){ .reading = reading };
	check(entries_max >= 0, "the entries can be counted");
	if (recovers)
		visited->recovery = recovery_open(&log_entries, &log_recovery, (__u64)entries_max);
	err = segments_read(folder_fd, folder, &log_entries, SEGMENTS_ALL, visit, visited, reading);
	check(err == 0 || err == -EMEDIUMTYPE, "a readable file is read, whatever its content");
	if (!err) {
		check(visited->entries == reading->entries &&
			      (!recovers || reading->entries <= (__u64)entries_max),
		      "entries are counted");
		check(reading->entries * STRIDE + reading->cut_bytes <= reading->bytes,
		      "every entry that is handed over or cut is in the files");
	}
	return !err;
}

static void check_rows(const struct visited *visited)
{
	unsigned char *row = malloc(log_recovery.row_size);

	check(recovery_keys(visited->recovery) <= visited->entries, "a row is of an entry");
	for (__u64 i = 0; i < recovery_keys(visited->recovery); i++)
		log_recovery.row(row, recovery_key(visited->recovery, i),
				 recovery_cell(visited->recovery, i));
	free(row);
}

static void check_last(int folder_fd, const struct segments_reading *all)
{
	struct segments_reading last;

	if (segments_read(folder_fd, folder, &log_entries, SEGMENTS_LAST, NULL, NULL, &last) == 0 &&
	    !all->corrupt && !last.corrupt) {
		check(last.last_size == all->last_size && last.cut_bytes == all->cut_bytes,
		      "the last segment is cut where it is cut");
		check(!memcmp(last.numbers, all->numbers, LANES * sizeof(*last.numbers)),
		      "the last segment alone says how far the lanes are");
	}
	segments_reading_free(&last);
}

/* Opens the folder as the daemon does: the last segment is cut and copied, and the rest stays the
 * same. */
static void check_opened(int folder_fd, const struct visited *before,
			 const struct segments_reading *reading)
{
	struct segments *segments;
	struct segments_reading after;
	struct visited visited;
	const int err = segments_open(folder, &log_entries, &segments);

	check(reading->corrupt || !err, "a folder that is not corrupt can be written to");
	if (err)
		return;
	check(!reading->segments || segments_epoch(segments) == reading->header.epoch,
	      "it goes on with the epoch that was there");
	segments_close(segments);
	if (reading->corrupt)
		return;
	check(read_all(folder_fd, false, &visited, &after), "the copy can be read");
	check(!after.corrupt && !after.cut_bytes, "the copy is whole");
	check(visited.entries == before->entries && visited.sum == before->sum,
	      "the copy has the same entries");
	recovery_close(visited.recovery);
	segments_reading_free(&after);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const int folder_fd = open_folder();
	const __u32 draw = crc32c(0, data, size);
	struct piece pieces[FILES_MAX];
	struct segments_reading reading;
	struct visited visited;

	write_files(folder_fd, data, pieces, split(data, size, pieces));
	if (read_all(folder_fd, draw % 4 == 2, &visited, &reading)) {
		check((segments_reading_say(&reading, folder) != 0) == (reading.corrupt != 0),
		      "corruption is reported");
		if (visited.recovery)
			check_rows(&visited);
		/* These take longer than all the rest, so they run seldom. */
		if (draw % 4 == 1)
			check_last(folder_fd, &reading);
		if (draw % 16 == 0) {
			check_opened(folder_fd, &visited, &reading);
			forget_files(folder_fd);
		}
	}
	recovery_close(visited.recovery);
	segments_reading_free(&reading);
	return 0;
}

/* --- Changes ---------------------------------------------------------------------------------- */

static void set_checks(uint8_t *data, const struct piece *piece)
{
	uint8_t *bytes = data + piece->at;
	const __u32 seed = segment_seed(piece->number);

	if (piece->size < HEADER_SIZE)
		return;
	stepwise_put(bytes + HEADER_SIZE - 4, 4, crc32c(0, bytes, HEADER_SIZE - 4));
	for (size_t at = HEADER_SIZE; at + STRIDE <= piece->size; at += STRIDE)
		segment_check_set(seed, bytes + at, LOG_ENTRY_SIZE);
}

/* Writes a header and entries that follow those of the files before. */
static void set_places(uint8_t *data, const struct piece *piece, __u64 *epoch, __u64 numbers[LANES])
{
	uint8_t *bytes = data + piece->at;
	const struct segment_header header = { .number = piece->number,
					       .epoch = *epoch,
					       .before = numbers };

	if (piece->size < HEADER_SIZE)
		return;
	segment_header_encode(&log_entries, &header, bytes);
	for (size_t at = HEADER_SIZE; at + STRIDE <= piece->size; at += STRIDE) {
		const __u32 lane = bytes[at + LOG_ENTRY_AT_LOG] % LANES;

		stepwise_put(bytes + at + LOG_ENTRY_AT_EPOCH, 2, *epoch);
		stepwise_put(bytes + at + LOG_ENTRY_AT_LOG, 1, lane);
		stepwise_put(bytes + at + LOG_ENTRY_AT_NUMBER, 6, ++numbers[lane]);
	}
}

/* Makes the files right; some of them, at random, start a new epoch. */
static void make_right(uint8_t *data, const struct piece *pieces, size_t count, unsigned int seed)
{
	__u64 epoch = 1, numbers[LANES] = {};

	for (size_t i = 0; i < count; i++) {
		if (seed >> i & 1) {
			epoch++;
			memset(numbers, 0, sizeof(numbers));
		}
		set_places(data, &pieces[i], &epoch, numbers);
		set_checks(data, &pieces[i]);
	}
}

static size_t add_file(uint8_t *data, size_t size, size_t size_max, unsigned int seed)
{
	const size_t wanted =
		HEADER_SIZE + seed % 6 * STRIDE + (seed / 8 % 4 ? 0 : seed / 32 % STRIDE);

	if (size + PIECE_SIZE + wanted > size_max)
		return size;
	data[size] = seed / 64 % 8 == 0;
	stepwise_put(data + size + 1, 2, wanted);
	memset(data + size + PIECE_SIZE, (int)(seed >> 16), wanted);
	return size + PIECE_SIZE + wanted;
}

/* Makes inputs that random changes seldom make: more files, right checksums, and places in
 * sequence, some with a bit changed. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_max, unsigned int seed)
{
	struct piece pieces[FILES_MAX];
	size_t count;

	size = seed % 8 == 7 ? add_file(data, size, size_max, seed >> 3) :
			       LLVMFuzzerMutate(data, size, size_max);
	count = split(data, size, pieces);
	if (seed % 4 == 0 || !count)
		return size;
	if (seed % 4 > 1)
		make_right(data, pieces, count, seed >> 16 & seed >> 8);
	for (size_t i = 0; i < count; i++)
		set_checks(data, &pieces[i]);
	if (seed % 4 == 3 && seed >> 5 & 1 && size)
		data[(seed >> 6) % size] ^= (uint8_t)(1u << (seed >> 3 & 3));
	return size;
}
