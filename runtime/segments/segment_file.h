/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The format of a segment file, NNNNNNNN.log. All numbers are little endian.
 *
 * bytes  of the header
 * 8      magic
 * 4      version of this format
 * 4      bytes of an entry, without its checksum
 * 8      hash of the layout of an entry
 * 8      number of the segment, as in its name
 * 8      epoch of all its entries
 * 4      number of lanes
 * 4      zero
 * 8 * n  for each lane, the last number of this epoch in the segments before this one
 * 4      CRC-32C of all that
 *
 * The entries follow. After each entry comes the CRC-32C of the segment's number (8 bytes) and of
 * the entry.
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
	__u64 *before; /* for each lane */
};

void segment_name(char name[SEGMENT_NAME_SIZE], __u64 number);

/* Sizes in bytes: of a header, and of an entry with its checksum. */
size_t segment_header_size(const struct stepwise_entries *entries);
size_t segment_stride(const struct stepwise_entries *entries);

/*
 * The checksum of a segment's number, with which each entry's checksum starts; and functions to set
 * and check one.
 */
__u32 segment_seed(__u64 number);
void segment_check_set(__u32 seed, unsigned char *entry, size_t size);
bool segment_check(__u32 seed, const unsigned char *entry, size_t size);

void segment_header_encode(const struct stepwise_entries *entries,
			   const struct segment_header *header, unsigned char *bytes);

enum segment_header_is {
	SEGMENT_HEADER_RIGHT,
	SEGMENT_HEADER_TORN,  /* there may be no header at all */
	SEGMENT_HEADER_OTHER, /* whole, but of another format or for other entries */
};

/*
 * Decodes a header. header->before must have room for all lanes. If the header is not right,
 * `found` gets a clause for a message.
 */
enum segment_header_is segment_header_decode(const struct stepwise_entries *entries,
					     const unsigned char *bytes, size_t size,
					     struct segment_header *header, char found[160]);

/*
 * Lists the numbers of the segments in a folder, in ascending order. The caller frees them. Returns
 * how many there are, or a negative errno after a message.
 */
ssize_t segment_numbers(int folder_fd, const char *folder, __u64 **numbers);

/*
 * Reads as much as there is, up to `size`. Returns the number of bytes, or a negative errno without
 * a message.
 */
ssize_t segment_read(int fd, unsigned char *bytes, size_t size, off_t offset);

/*
 * Writes all bytes. Returns 0 or a negative errno without a message. If not everything fitted, the
 * file has a part of it after `offset`.
 */
int segment_write(int fd, const unsigned char *bytes, size_t size, off_t offset);

#endif
