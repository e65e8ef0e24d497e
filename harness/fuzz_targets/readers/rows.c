/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Reads a made-up file of rows into cells of the store (generated/kv). The file must be accepted
 * if, and only if, a plain reader accepts it. The cells must hold what that reader finds in the
 * file.
 */
#include <string.h>

#include "kv_user.c"

#include "base/crc32c.h"
#include "holds.h"
#include "segments/row_reader.h"
#include "stepwise_rows.h"

#define ROW_BYTES_MAX 65536

/* A whole file, by the description of the format. Its parts are read in place. */
struct plain {
	struct stepwise_rows_head head;
	const unsigned char *fields;
	const unsigned char *rows;
};

static struct stepwise_rows_field plain_field(const struct plain *plain, __u32 number)
{
	struct stepwise_rows_field field;

	memcpy(&field, plain->fields + number * sizeof(field), sizeof(field));
	field.name[sizeof(field.name) - 1] = '\0';
	return field;
}

static const struct stepwise_row_field *own_field(const char *name)
{
	for (__u32 i = 0; i < kv_rows.field_count; i++)
		if (!strcmp(kv_rows.fields[i].name, name))
			return &kv_rows.fields[i];
	return NULL;
}

static bool fields_are_right(const struct plain *plain)
{
	if (plain->head.field_count != kv_rows.field_count)
		return false;
	for (__u32 i = 0; i < plain->head.field_count; i++) {
		const struct stepwise_rows_field field = plain_field(plain, i);
		const struct stepwise_row_field *own = own_field(field.name);

		if (!own || own->bytes != (field.bytes != 0) || field.size > own->size ||
		    (__u64)field.offset + field.size > plain->head.row_size)
			return false;
		for (__u32 j = 0; j < i; j++)
			if (!strcmp(plain_field(plain, j).name, field.name))
				return false;
	}
	return true;
}

/* Computes the checksum bit by bit, independent of runtime/base/crc32c.c. */
static __u32 plain_sum(const unsigned char *bytes, size_t size)
{
	__u32 remainder = ~0u;

	for (size_t i = 0; i < size; i++) {
		remainder ^= bytes[i];
		for (int bit = 0; bit < 8; bit++)
			remainder = remainder >> 1 ^ (remainder & 1 ? 0x82f63b78 : 0);
	}
	return ~remainder;
}

static bool plain_read(const unsigned char *data, size_t size, struct plain *plain)
{
	const size_t head_size = sizeof(plain->head);
	__u64 fields_size, left;
	__u32 sum;

	if (size < head_size + sizeof(sum))
		return false;
	memcpy(&plain->head, data, head_size);
	plain->fields = data + head_size;
	fields_size = (__u64)plain->head.field_count * sizeof(struct stepwise_rows_field);
	left = size - head_size - sizeof(sum);
	if (memcmp(data, STEPWISE_ROWS_MAGIC, 8) || plain->head.version != STEPWISE_ROWS_VERSION ||
	    !plain->head.row_size || plain->head.row_size > ROW_BYTES_MAX ||
	    plain->head.field_count > STEPWISE_ROWS_FIELDS_MAX || fields_size > left)
		return false;
	plain->rows = plain->fields + fields_size;
	left -= fields_size;
	if (left % plain->head.row_size || left / plain->head.row_size != plain->head.row_count ||
	    !fields_are_right(plain))
		return false;
	memcpy(&sum, data + size - sizeof(sum), sizeof(sum));
	return sum == plain_sum(data, size - sizeof(sum));
}

/* Checks a cell: a short number lacks its upper bytes, and nothing but the fields is written. */
static void check_cell(const struct plain *plain, __u64 number, const unsigned char *cell)
{
	const unsigned char *row = plain->rows + number * plain->head.row_size;
	unsigned char *expected = calloc(1, sizeof(struct kv_row_cell));

	for (__u32 i = 0; i < plain->head.field_count; i++) {
		const struct stepwise_rows_field field = plain_field(plain, i);

		if (field.size)
			memcpy(expected + own_field(field.name)->offset, row + field.offset,
			       field.size);
	}
	check(!memcmp(expected, cell, sizeof(struct kv_row_cell)),
	      "a cell has what the row has, and nothing else");
	free(expected);
}

static void check_rows(struct row_reader *rows, const struct plain *plain)
{
	check(row_reader_count(rows) == plain->head.row_count,
	      "the rows are as many as the head says");
	for (__u64 i = 0; i < plain->head.row_count; i++) {
		struct kv_row_cell *cell = calloc(1, sizeof(*cell));

		check(row_reader_next(rows, cell) == 0,
		      "each row of a file that was taken can be had");
		check_cell(plain, i, (const unsigned char *)cell);
		kv_complete_row(cell);
		free(cell);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct plain plain;
	const bool is_right = plain_read(data, size, &plain);
	FILE *stream = size ? fmemopen((void *)data, size, "r") : fopen("/dev/null", "r");
	struct row_reader *rows;

	if (!stream)
		abort();
	rows = row_reader_open(stream, "an input", kv_rows.fields, kv_rows.field_count);
	check(!rows == !is_right, "a file is taken if, and only if, the plain reader takes it");
	if (rows) {
		check_rows(rows, &plain);
		row_reader_close(rows);
	}
	fclose(stream);
	return 0;
}

/* After three of four changes, corrects the head and the checksum, which random changes would
 * hardly ever get right. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_max, unsigned int seed)
{
	struct stepwise_rows_head head;
	size_t front;
	__u32 sum;

	size = LLVMFuzzerMutate(data, size, size_max);
	if (seed % 4 == 0 || size < sizeof(head) + sizeof(sum))
		return size;
	memcpy(&head, data, sizeof(head));
	memcpy(head.magic, STEPWISE_ROWS_MAGIC, sizeof(head.magic));
	head.version = STEPWISE_ROWS_VERSION;
	if (seed % 4 > 1) {
		front = sizeof(head) +
			(size_t)(head.field_count % 8) * sizeof(struct stepwise_rows_field) +
			sizeof(sum);
		head.field_count %= 8;
		head.row_size = head.row_size % 128 + 1;
		head.row_count = size > front ? (size - front) / head.row_size : 0;
		if (size > front)
			size = front + head.row_count * head.row_size;
	}
	memcpy(data, &head, sizeof(head));
	sum = crc32c(0, data, size - sizeof(sum));
	memcpy(data + size - sizeof(sum), &sum, sizeof(sum));
	return size;
}
