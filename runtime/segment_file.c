/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "crc32c.h"
#include "log.h"
#include "segment_file.h"

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

static void put_u32(unsigned char *to, __u32 value)
{
	value = htole32(value);
	memcpy(to, &value, sizeof(value));
}

static void put_u64(unsigned char *to, __u64 value)
{
	value = htole64(value);
	memcpy(to, &value, sizeof(value));
}

static __u32 get_u32(const unsigned char *from)
{
	__u32 value;

	memcpy(&value, from, sizeof(value));
	return le32toh(value);
}

static __u64 get_u64(const unsigned char *from)
{
	__u64 value;

	memcpy(&value, from, sizeof(value));
	return le64toh(value);
}

void segment_name(char name[SEGMENT_NAME_SIZE], __u64 number)
{
	snprintf(name, SEGMENT_NAME_SIZE, "%08u.log", (unsigned int)(number % (SEGMENT_NUMBER_MAX + 1)));
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

	put_u64(bytes, number);
	return crc32c(0, bytes, sizeof(bytes));
}

void segment_check_set(__u32 seed, unsigned char *entry, size_t size)
{
	put_u32(entry + size, crc32c(seed, entry, size));
}

bool segment_check(__u32 seed, const unsigned char *entry, size_t size)
{
	return get_u32(entry + size) == crc32c(seed, entry, size);
}

void segment_header_encode(const struct stepwise_entries *entries, const struct segment_header *header, unsigned char *bytes)
{
	const size_t size = segment_header_size(entries) - SEGMENT_CHECK_SIZE;

	memcpy(bytes, magic, sizeof(magic));
	put_u32(bytes + AT_VERSION, VERSION);
	put_u32(bytes + AT_ENTRY_SIZE, entries->size);
	put_u64(bytes + AT_ENTRY_ID, entries->id);
	put_u64(bytes + AT_NUMBER, header->number);
	put_u64(bytes + AT_EPOCH, header->epoch);
	put_u32(bytes + AT_LANES, entries->lanes);
	put_u32(bytes + AT_ZERO, 0);
	for (__u32 lane = 0; lane < entries->lanes; lane++)
		put_u64(bytes + AT_BEFORE + lane * sizeof(__u64), header->before[lane]);
	put_u32(bytes + size, crc32c(0, bytes, size));
}

/* A header of other entries has another size, and so its checksum elsewhere. */
static bool header_is_whole(const unsigned char *bytes, size_t size)
{
	const size_t checked = AT_BEFORE + (size_t)get_u32(bytes + AT_LANES) * sizeof(__u64);

	return checked + SEGMENT_CHECK_SIZE <= size && get_u32(bytes + checked) == crc32c(0, bytes, checked);
}

enum segment_header_is segment_header_decode(const struct stepwise_entries *entries, const unsigned char *bytes, size_t size,
					     struct segment_header *header, char found[160])
{
	const bool is_whole = size >= AT_BEFORE && header_is_whole(bytes, size);

	if (is_whole && get_u32(bytes + AT_VERSION) != VERSION) {
		snprintf(found, 160, "it is of version %u of the format, and %u is known here", get_u32(bytes + AT_VERSION), VERSION);
		return SEGMENT_HEADER_OTHER;
	}
	if (is_whole && get_u64(bytes + AT_ENTRY_ID) != entries->id) {
		snprintf(found, 160, "its entries are others than those of this %s (%016llx and not %016llx)", entries->protocol,
			 (unsigned long long)get_u64(bytes + AT_ENTRY_ID), (unsigned long long)entries->id);
		return SEGMENT_HEADER_OTHER;
	}
	if (size >= sizeof(magic) && memcmp(bytes, magic, sizeof(magic))) {
		snprintf(found, 160, "it does not begin like a segment");
		return SEGMENT_HEADER_TORN;
	}
	if (size < segment_header_size(entries)) {
		snprintf(found, 160, "it has %zu bytes, and a header %zu", size, segment_header_size(entries));
		return SEGMENT_HEADER_TORN;
	}
	if (!is_whole || get_u32(bytes + AT_LANES) != entries->lanes || get_u32(bytes + AT_ENTRY_SIZE) != entries->size) {
		snprintf(found, 160, "its header's checksum is wrong");
		return SEGMENT_HEADER_TORN;
	}
	header->number = get_u64(bytes + AT_NUMBER);
	header->epoch = get_u64(bytes + AT_EPOCH);
	for (__u32 lane = 0; lane < entries->lanes; lane++)
		header->before[lane] = get_u64(bytes + AT_BEFORE + lane * sizeof(__u64));
	return SEGMENT_HEADER_RIGHT;
}

/* Of a file's name; 0 for one that is no segment's. */
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
