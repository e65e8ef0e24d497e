/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/log.h"
#include "segments/rows.h"
#include "stepwise_rows.h"

#define ROW_BYTES_MAX 65536

/*
 * Where a field lies in the file and in the cell. Numbers are little endian, so a narrower field
 * lacks the upper bytes.
 */
struct copied {
	__u32 from;
	__u32 to;
	__u32 size;
};

struct rows {
	FILE *stream;
	const char *name;
	__u64 count;
	__u64 taken;
	__u32 sum; /* checksum of the bytes read so far */
	__u32 row_size;
	__u32 copied_count;
	struct copied copied[STEPWISE_ROWS_FIELDS_MAX];
	unsigned char row[ROW_BYTES_MAX];
};

static int read_all(struct rows *rows, void *to, size_t size, const char *what)
{
	if (fread(to, size, 1, rows->stream) == 1) {
		rows->sum = crc32c(rows->sum, to, size);
		return 0;
	}
	if (ferror(rows->stream)) {
		log_error("cannot read %s from %s: %s", what, rows->name, strerror(errno));
		return -EIO;
	}
	log_error("%s ends before %s: it was cut short", rows->name, what);
	return -EINVAL;
}

static const struct stepwise_row_field *find(const struct stepwise_row_field *fields,
					     __u32 field_count, const char *name)
{
	for (__u32 i = 0; i < field_count; i++)
		if (!strcmp(fields[i].name, name))
			return &fields[i];
	return NULL;
}

static int take_field(struct rows *rows, const struct stepwise_rows_field *found,
		      const struct stepwise_row_field *fields, __u32 field_count)
{
	const struct stepwise_row_field *own = find(fields, field_count, found->name);

	if (found->size > rows->row_size || found->offset > rows->row_size - found->size) {
		log_error("%s: field %s is said to lie outside of the row", rows->name,
			  found->name);
		return -EINVAL;
	}
	if (!own) {
		log_error("%s has a field %s, which rows are not restored with", rows->name,
			  found->name);
		return -EINVAL;
	}
	if (own->bytes != (found->bytes != 0)) {
		log_error("%s: field %s is %s there, and %s here", rows->name, found->name,
			  found->bytes ? "bytes" : "a number", own->bytes ? "bytes" : "a number");
		return -EINVAL;
	}
	if (own->size < found->size) {
		log_error("%s: field %s has %u bytes there, and room for %u here", rows->name,
			  found->name, found->size, own->size);
		return -EINVAL;
	}
	rows->copied[rows->copied_count++] =
		(struct copied){ .from = found->offset, .to = own->offset, .size = found->size };
	return 0;
}

static int take_fields(struct rows *rows, __u32 found_count,
		       const struct stepwise_row_field *fields, __u32 field_count)
{
	__u64 named = 0;
	int err = 0;

	for (__u32 i = 0; !err && i < found_count; i++) {
		struct stepwise_rows_field found;

		err = read_all(rows, &found, sizeof(found), "what its fields are");
		found.name[sizeof(found.name) - 1] = '\0';
		if (!err)
			err = take_field(rows, &found, fields, field_count);
		for (__u32 j = 0; !err && j < field_count; j++) {
			if (strcmp(fields[j].name, found.name))
				continue;
			if (named & 1ull << j) {
				log_error("%s has field %s twice", rows->name, found.name);
				err = -EINVAL;
			}
			named |= 1ull << j;
		}
	}
	for (__u32 j = 0; !err && j < field_count; j++) {
		if (named & 1ull << j)
			continue;
		log_error("%s lacks field %s, which rows are restored with", rows->name,
			  fields[j].name);
		err = -EINVAL;
	}
	return err;
}

static int read_head(struct rows *rows, const struct stepwise_row_field *fields, __u32 field_count)
{
	struct stepwise_rows_head head;
	int err = read_all(rows, &head, sizeof(head), "its head");

	if (err)
		return err;
	if (memcmp(head.magic, STEPWISE_ROWS_MAGIC, sizeof(head.magic))) {
		log_error("%s is no file of rows: it does not begin like what `recover` writes",
			  rows->name);
		return -EINVAL;
	}
	if (head.version != STEPWISE_ROWS_VERSION) {
		log_error("%s has version %u of the format; this program reads version %u",
			  rows->name, head.version, STEPWISE_ROWS_VERSION);
		return -EINVAL;
	}
	if (!head.row_size || head.row_size > sizeof(rows->row) ||
	    head.field_count > STEPWISE_ROWS_FIELDS_MAX) {
		log_error(
			"%s has rows of %u bytes with %u fields; there can be %zu bytes and %u fields",
			rows->name, head.row_size, head.field_count, sizeof(rows->row),
			STEPWISE_ROWS_FIELDS_MAX);
		return -EINVAL;
	}
	rows->row_size = head.row_size;
	rows->count = head.row_count;
	return take_fields(rows, head.field_count, fields, field_count);
}

static int check_sum(struct rows *rows, const char *otherwise)
{
	const __u32 wanted = rows->sum;
	__u32 found;
	int err = read_all(rows, &found, sizeof(found), "its checksum");

	if (err || found == wanted)
		return err;
	log_error("%s is damaged: the rows are not those that were written%s", rows->name,
		  otherwise);
	return -EINVAL;
}

static int read_row(struct rows *rows)
{
	char what[64];
	int err;

	snprintf(what, sizeof(what), "row %llu of %llu", (unsigned long long)rows->taken + 1,
		 (unsigned long long)rows->count);
	err = read_all(rows, rows->row, rows->row_size, what);
	rows->taken += !err;
	return err;
}

/*
 * Checks the rest of the file after the header: its checksum must match, and nothing may follow.
 * Then rewinds to the first row.
 */
static int check_rest(struct rows *rows)
{
	const off_t first = ftello(rows->stream);
	const __u32 sum = rows->sum;
	int err = 0;

	while (!err && rows->taken < rows->count)
		err = read_row(rows);
	if (!err)
		err = check_sum(rows, "; nothing was restored");
	if (!err && fgetc(rows->stream) != EOF) {
		log_error(
			"%s goes on behind its checksum: it is more than what one `recover` wrote; nothing was restored",
			rows->name);
		err = -EINVAL;
	}
	if (!err && (first < 0 || fseeko(rows->stream, first, SEEK_SET))) {
		err = -errno;
		log_error("cannot read %s once more: %s", rows->name, strerror(-err));
	}
	rows->sum = sum;
	rows->taken = 0;
	return err;
}

struct rows *rows_open(FILE *stream, const char *name, const struct stepwise_row_field *fields,
		       __u32 field_count)
{
	struct rows *rows = calloc(1, sizeof(*rows));

	if (!rows) {
		log_error("cannot read rows from %s: %s", name, strerror(ENOMEM));
		return NULL;
	}
	rows->stream = stream;
	rows->name = name;
	if (!read_head(rows, fields, field_count) && !check_rest(rows))
		return rows;
	rows_close(rows);
	return NULL;
}

void rows_close(struct rows *rows)
{
	free(rows);
}

__u64 rows_count(const struct rows *rows)
{
	return rows->count;
}

int rows_next(struct rows *rows, void *cell)
{
	const int err = read_row(rows);

	if (err)
		return err;
	for (__u32 i = 0; i < rows->copied_count; i++)
		memcpy((unsigned char *)cell + rows->copied[i].to, rows->row + rows->copied[i].from,
		       rows->copied[i].size);
	return rows->taken == rows->count ?
		       check_sum(rows,
				 " when it was looked at first; purge what was restored of them") :
		       0;
}
