/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A file of the segment folder, NNNNNNNN.log. All numbers are little endian.
 *
 *   bytes  of the header
 *       8  magic
 *       4  version of this format
 *       4  bytes of an entry, without its checksum
 *       8  hash of what an entry is made of
 *       8  number of the segment, as in its name
 *       8  epoch of all its entries
 *       4  lanes
 *       4  zero
 *   8 * n  of each lane, the last number of this epoch that is in the segments before this one
 *       4  CRC-32C of all that
 *
 * Then entries. Each is followed by the CRC-32C of the segment's number (8 bytes) and of the entry.
 */
#ifndef STEPWISE_SEGMENT_FILE_H
#define STEPWISE_SEGMENT_FILE_H

#include <sys/types.h>

#include "stepwise_drain.h"

#define SEGMENT_NUMBER_MAX 99999999
#define SEGMENT_NAME_SIZE sizeof("NNNNNNNN.log")
#define SEGMENT_CHECK_SIZE sizeof(__u32)

struct segment_header {
	__u64 number;
	__u64 epoch;
	__u64 *before; /* of each lane */
};

void segment_name(char name[SEGMENT_NAME_SIZE], __u64 number);

/* Bytes of a header, and of an entry with its checksum. */
size_t segment_header_size(const struct stepwise_entries *entries);
size_t segment_stride(const struct stepwise_entries *entries);

/* What an entry's checksum begins with, and whether one is right. */
__u32 segment_seed(__u64 number);
void segment_check_set(__u32 seed, unsigned char *entry, size_t size);
bool segment_check(__u32 seed, const unsigned char *entry, size_t size);

void segment_header_encode(const struct stepwise_entries *entries,
			   const struct segment_header *header, unsigned char *bytes);

enum segment_header_is {
	SEGMENT_HEADER_RIGHT,
	SEGMENT_HEADER_TORN,  /* or no header at all */
	SEGMENT_HEADER_OTHER, /* whole, but of another format or of other entries */
};

/* header->before has room for all lanes; `found` is a clause for a message where it is not right.
 */
enum segment_header_is segment_header_decode(const struct stepwise_entries *entries,
					     const unsigned char *bytes, size_t size,
					     struct segment_header *header, char found[160]);

/* The numbers of the segments in a folder, ascending, to be freed; how many, or a negative errno
 * after a message. */
ssize_t segment_numbers(int folder_fd, const char *folder, __u64 **numbers);

/* As much as there is, up to `size`; a negative errno without a message. */
ssize_t segment_read(int fd, unsigned char *bytes, size_t size, off_t offset);

/* All of it; 0 or a negative errno without a message. What it has written of what did not fit is
 * there, behind `offset`. */
int segment_write(int fd, const unsigned char *bytes, size_t size, off_t offset);

#endif
