/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The file format that `recover` writes and `restore` reads: a header, the description of the
 * fields, the rows back to back, and the CRC-32C of all that. Numbers are little endian.
 */
#ifndef STEPWISE_ROWS_H
#define STEPWISE_ROWS_H

#include <linux/types.h>

#define STEPWISE_ROWS_MAGIC "\x89steprw\n"
#define STEPWISE_ROWS_VERSION 1
#define STEPWISE_ROWS_FIELDS_MAX 64

struct stepwise_rows_head {
	char magic[8]; /* STEPWISE_ROWS_MAGIC without its final zero */
	__u32 version;
	__u32 field_count;
	__u32 row_size; /* bytes */
	__u32 reserved;
	__u64 row_count; /* a file with fewer rows was cut short */
};

struct stepwise_rows_field {
	char name[32]; /* padded with zeros */
	__u32 offset;  /* in bytes, from the start of the row */
	__u32 size;    /* bytes */
	__u32 bytes;   /* 1: opaque bytes; 0: an unsigned integer */
	__u32 reserved;
};

#endif
