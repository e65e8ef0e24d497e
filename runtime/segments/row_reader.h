/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Reads a file of rows (stepwise_rows.h) into cells that have fields of the same names. */
#ifndef STEPWISE_ROW_READER_H
#define STEPWISE_ROW_READER_H

#include <stdio.h>

#include "stepwise.h"

struct row_reader;

/*
 * Reads the header from `stream`, called `name` in messages. Each field of the file must be among
 * `fields`, and each of these must be in the file. A field of the cell may be wider than the
 * file's, but not narrower. Then reads to the end, so that no row is returned from a damaged file.
 * The stream must allow a second reading. Returns NULL after a message.
 */
struct row_reader *row_reader_open(FILE *stream, const char *name,
				   const struct stepwise_row_field *fields, __u32 field_count);
void row_reader_close(struct row_reader *reader);

/* Returns the number of rows in the file. */
__u64 row_reader_count(const struct row_reader *reader);

/*
 * Fills the fields of a zeroed cell from the next row. After the last row, also checks that the
 * file has not changed meanwhile. Returns a negative errno after a message.
 */
int row_reader_next(struct row_reader *reader, void *cell);

#endif
