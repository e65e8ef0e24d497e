/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/log.h"
#include "segments/segment_file.h"
#include "stepwise_bytes.h"

#define VERSION 1

static const unsigned char magic[8] = { 0x89, 's', 't', 'e', 'p', 'w', 'i', '\n' };

/* Offsets in a header. */
enum {
	AT_VERSION = 8,
	AT_ENTRY_SIZE = 12,
	AT_ENTRY_ID = 16,
	AT_NUMBER = 24,
	AT_EPOCH = 32,
	AT_LANES = 40,
	AT_ZERO = 44,
	AT_BEFORE = 48,
};

void segment_name(char name[SEGMENT_NAME_SIZE], __u64 number)
{
	snprintf(name, SEGMENT_NAME_SIZE, "%08u.log",
		 (unsigned int)(number % (SEGMENT_NUMBER_MAX + 1)));
}

size_t segment_header_size(const struct stepwise_entries *entries)
{
	return AT_BEFORE + (size_t)entries->lanes * sizeof(__u64) + SEGMENT_CHECK_SIZE;
}

size_t segment_stride(const struct stepwise_entries *entries)
{
	return entries->size + SEGMENT_CHECK_SIZE;
}

__u32 segment_seed(__u64 number)
{
	unsigned char bytes[sizeof(number)];

	stepwise_put(bytes, 8, number);
	return crc32c(0, bytes, sizeof(bytes));
}

void segment_check_set(__u32 seed, unsigned char *entry, size_t size)
{
	stepwise_put(entry + size, 4, crc32c(seed, entry, size));
}

bool segment_check(__u32 seed, const unsigned char *entry, size_t size)
{
	return stepwise_get(entry + size, 4) == crc32c(seed, entry, size);
}

void segment_header_encode(const struct stepwise_entries *entries,
			   const struct segment_header *header, unsigned char *bytes)
{
	const size_t size = segment_header_size(entries) - SEGMENT_CHECK_SIZE;

	memcpy(bytes, magic, sizeof(magic));
	stepwise_put(bytes + AT_VERSION, 4, VERSION);
	stepwise_put(bytes + AT_ENTRY_SIZE, 4, entries->size);
	stepwise_put(bytes + AT_ENTRY_ID, 8, entries->id);
	stepwise_put(bytes + AT_NUMBER, 8, header->number);
	stepwise_put(bytes + AT_EPOCH, 8, header->epoch);
	stepwise_put(bytes + AT_LANES, 4, entries->lanes);
	stepwise_put(bytes + AT_ZERO, 4, 0);
	for (__u32 lane = 0; lane < entries->lanes; lane++)
		stepwise_put(bytes + AT_BEFORE + lane * sizeof(__u64), 8, header->before[lane]);
	stepwise_put(bytes + size, 4, crc32c(0, bytes, size));
}

/* A header for other entries has another size, so its checksum is at another place. */
static bool header_is_whole(const unsigned char *bytes, size_t size)
{
	const size_t checked = AT_BEFORE + stepwise_get(bytes + AT_LANES, 4) * sizeof(__u64);

	return checked + SEGMENT_CHECK_SIZE <= size &&
	       stepwise_get(bytes + checked, 4) == crc32c(0, bytes, checked);
}

enum segment_header_is segment_header_decode(const struct stepwise_entries *entries,
					     const unsigned char *bytes, size_t size,
					     struct segment_header *header, char found[160])
{
	const bool is_whole = size >= AT_BEFORE && header_is_whole(bytes, size);

	if (is_whole && stepwise_get(bytes + AT_VERSION, 4) != VERSION) {
		snprintf(found, 160,
			 "it has version %u of the format, but this build reads version %u",
			 (__u32)stepwise_get(bytes + AT_VERSION, 4), VERSION);
		return SEGMENT_HEADER_OTHER;
	}
	if (is_whole && stepwise_get(bytes + AT_ENTRY_ID, 8) != entries->id) {
		snprintf(found, 160,
			 "its entries are of another layout than this %s (%016llx, not %016llx)",
			 entries->protocol,
			 (unsigned long long)stepwise_get(bytes + AT_ENTRY_ID, 8),
			 (unsigned long long)entries->id);
		return SEGMENT_HEADER_OTHER;
	}
	if (size >= sizeof(magic) && memcmp(bytes, magic, sizeof(magic))) {
		snprintf(found, 160, "it does not start like a segment");
		return SEGMENT_HEADER_TORN;
	}
	if (size < segment_header_size(entries)) {
		snprintf(found, 160, "it has %zu bytes, but a header has %zu", size,
			 segment_header_size(entries));
		return SEGMENT_HEADER_TORN;
	}
	if (!is_whole || stepwise_get(bytes + AT_LANES, 4) != entries->lanes ||
	    stepwise_get(bytes + AT_ENTRY_SIZE, 4) != entries->size) {
		snprintf(found, 160, "its header's checksum is wrong");
		return SEGMENT_HEADER_TORN;
	}
	header->number = stepwise_get(bytes + AT_NUMBER, 8);
	header->epoch = stepwise_get(bytes + AT_EPOCH, 8);
	for (__u32 lane = 0; lane < entries->lanes; lane++)
		header->before[lane] = stepwise_get(bytes + AT_BEFORE + lane * sizeof(__u64), 8);
	return SEGMENT_HEADER_RIGHT;
}

/* Returns the number in a file's name; 0 if the name is not a segment's. */
static __u64 number_of(const char *name)
{
	char expected[SEGMENT_NAME_SIZE];
	const __u64 number = strtoull(name, NULL, 10);

	segment_name(expected, number);
	return strcmp(expected, name) ? 0 : number;
}

static int compare_numbers(const void *left, const void *right)
{
	const __u64 a = *(const __u64 *)left, b = *(const __u64 *)right;

	return a < b ? -1 : a > b;
}

static ssize_t read_numbers(DIR *directory, __u64 **numbers)
{
	const struct dirent *entry;
	size_t count = 0;

	for (errno = 0; (entry = readdir(directory)); errno = 0) {
		const __u64 number = number_of(entry->d_name);
		__u64 *grown;

		if (!number)
			continue;
		if (!(count & (count - 1))) {
			grown = realloc(*numbers, (count ? 2 * count : 1) * sizeof(**numbers));
			if (!grown)
				return -ENOMEM;
			*numbers = grown;
		}
		(*numbers)[count++] = number;
	}
	if (count)
		qsort(*numbers, count, sizeof(**numbers), compare_numbers);
	return errno ? -errno : (ssize_t)count;
}

ssize_t segment_numbers(int folder_fd, const char *folder, __u64 **numbers)
{
	const int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);
	ssize_t count = -errno;

	*numbers = NULL;
	if (directory) {
		count = read_numbers(directory, numbers);
		closedir(directory);
	} else if (fd >= 0) {
		close(fd);
	}
	if (count >= 0)
		return count;
	log_error("cannot list the segments in %s: %s", folder, strerror(-(int)count));
	free(*numbers);
	*numbers = NULL;
	return count;
}

ssize_t segment_read(int fd, unsigned char *bytes, size_t size, off_t offset)
{
	size_t done = 0;

	while (done < size) {
		const ssize_t count = pread(fd, bytes + done, size - done, offset + (off_t)done);

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return -errno;
		if (!count)
			break;
		done += count;
	}
	return done;
}

int segment_write(int fd, const unsigned char *bytes, size_t size, off_t offset)
{
	size_t done = 0;

	while (done < size) {
		const ssize_t count = pwrite(fd, bytes + done, size - done, offset + (off_t)done);

		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			return count ? -errno : -ENOSPC;
		done += count;
	}
	return 0;
}
