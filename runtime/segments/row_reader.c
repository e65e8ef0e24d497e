/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/log.h"
#include "segments/row_reader.h"
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

struct row_reader {
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

static int read_all(struct row_reader *reader, void *to, size_t size, const char *what)
{
	if (fread(to, size, 1, reader->stream) == 1) {
		reader->sum = crc32c(reader->sum, to, size);
		return 0;
	}
	if (ferror(reader->stream)) {
		log_error("cannot read %s from %s: %s", what, reader->name, strerror(errno));
		return -EIO;
	}
	log_error("%s ends before %s: it was cut short", reader->name, what);
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

static int take_field(struct row_reader *reader, const struct stepwise_rows_field *found,
		      const struct stepwise_row_field *fields, __u32 field_count)
{
	const struct stepwise_row_field *own = find(fields, field_count, found->name);

	if (found->size > reader->row_size || found->offset > reader->row_size - found->size) {
		log_error("%s: field %s lies outside of the row", reader->name, found->name);
		return -EINVAL;
	}
	if (!own) {
		log_error("%s has a field %s, which rows of this build do not have", reader->name,
			  found->name);
		return -EINVAL;
	}
	if (own->bytes != (found->bytes != 0)) {
		log_error("%s: field %s is %s there, but %s in this build", reader->name,
			  found->name, found->bytes ? "bytes" : "a number",
			  own->bytes ? "bytes" : "a number");
		return -EINVAL;
	}
	if (own->size < found->size) {
		log_error("%s: field %s has %u bytes there, but %u in this build", reader->name,
			  found->name, found->size, own->size);
		return -EINVAL;
	}
	reader->copied[reader->copied_count++] =
		(struct copied){ .from = found->offset, .to = own->offset, .size = found->size };
	return 0;
}

static int take_fields(struct row_reader *reader, __u32 found_count,
		       const struct stepwise_row_field *fields, __u32 field_count)
{
	__u64 named = 0;
	int err = 0;

	for (__u32 i = 0; !err && i < found_count; i++) {
		struct stepwise_rows_field found;

		err = read_all(reader, &found, sizeof(found), "the names of its fields");
		found.name[sizeof(found.name) - 1] = '\0';
		if (!err)
			err = take_field(reader, &found, fields, field_count);
		for (__u32 j = 0; !err && j < field_count; j++) {
			if (strcmp(fields[j].name, found.name))
				continue;
			if (named & 1ull << j) {
				log_error("%s has field %s twice", reader->name, found.name);
				err = -EINVAL;
			}
			named |= 1ull << j;
		}
	}
	for (__u32 j = 0; !err && j < field_count; j++) {
		if (named & 1ull << j)
			continue;
		log_error("%s lacks field %s, which rows of this build have", reader->name,
			  fields[j].name);
		err = -EINVAL;
	}
	return err;
}

static int read_head(struct row_reader *reader, const struct stepwise_row_field *fields,
		     __u32 field_count)
{
	struct stepwise_rows_head head;
	int err = read_all(reader, &head, sizeof(head), "its head");

	if (err)
		return err;
	if (memcmp(head.magic, STEPWISE_ROWS_MAGIC, sizeof(head.magic))) {
		log_error("%s is not a file of rows: it does not start as `recover` writes it",
			  reader->name);
		return -EINVAL;
	}
	if (head.version != STEPWISE_ROWS_VERSION) {
		log_error("%s has version %u of the format, but this build reads version %u",
			  reader->name, head.version, STEPWISE_ROWS_VERSION);
		return -EINVAL;
	}
	if (!head.row_size || head.row_size > sizeof(reader->row) ||
	    head.field_count > STEPWISE_ROWS_FIELDS_MAX) {
		log_error(
			"%s has rows of %u bytes with %u fields, but at most %zu bytes and %u fields are possible",
			reader->name, head.row_size, head.field_count, sizeof(reader->row),
			STEPWISE_ROWS_FIELDS_MAX);
		return -EINVAL;
	}
	reader->row_size = head.row_size;
	reader->count = head.row_count;
	return take_fields(reader, head.field_count, fields, field_count);
}

static int check_sum(struct row_reader *reader, const char *otherwise)
{
	const __u32 wanted = reader->sum;
	__u32 found;
	int err = read_all(reader, &found, sizeof(found), "its checksum");

	if (err || found == wanted)
		return err;
	log_error("%s is damaged: its rows do not match their checksum%s", reader->name, otherwise);
	return -EINVAL;
}

static int read_row(struct row_reader *reader)
{
	char what[64];
	int err;

	snprintf(what, sizeof(what), "row %llu of %llu", (unsigned long long)reader->taken + 1,
		 (unsigned long long)reader->count);
	err = read_all(reader, reader->row, reader->row_size, what);
	reader->taken += !err;
	return err;
}

/*
 * Checks the rest of the file after the header: its checksum must match, and nothing may follow.
 * Then rewinds to the first row.
 */
static int check_rest(struct row_reader *reader)
{
	const off_t first = ftello(reader->stream);
	const __u32 sum = reader->sum;
	int err = 0;

	while (!err && reader->taken < reader->count)
		err = read_row(reader);
	if (!err)
		err = check_sum(reader, "; nothing was restored");
	if (!err && fgetc(reader->stream) != EOF) {
		log_error(
			"%s goes on behind its checksum, so one `recover` did not write all of it; nothing was restored",
			reader->name);
		err = -EINVAL;
	}
	if (!err && (first < 0 || fseeko(reader->stream, first, SEEK_SET))) {
		err = -errno;
		log_error("cannot read %s a second time: %s", reader->name, strerror(-err));
	}
	reader->sum = sum;
	reader->taken = 0;
	return err;
}

struct row_reader *row_reader_open(FILE *stream, const char *name,
				   const struct stepwise_row_field *fields, __u32 field_count)
{
	struct row_reader *reader = calloc(1, sizeof(*reader));

	if (!reader) {
		log_error("cannot read rows from %s: %s", name, strerror(ENOMEM));
		return NULL;
	}
	reader->stream = stream;
	reader->name = name;
	if (!read_head(reader, fields, field_count) && !check_rest(reader))
		return reader;
	row_reader_close(reader);
	return NULL;
}

void row_reader_close(struct row_reader *reader)
{
	free(reader);
}

__u64 row_reader_count(const struct row_reader *reader)
{
	return reader->count;
}

int row_reader_next(struct row_reader *reader, void *cell)
{
	const int err = read_row(reader);

	if (err)
		return err;
	for (__u32 i = 0; i < reader->copied_count; i++)
		memcpy((unsigned char *)cell + reader->copied[i].to,
		       reader->row + reader->copied[i].from, reader->copied[i].size);
	return reader->taken == reader->count ?
		       check_sum(reader,
				 ", but they did when it was read first; purge the restored rows") :
		       0;
}
