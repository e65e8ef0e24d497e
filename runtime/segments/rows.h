/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* A file of rows (stepwise_rows.h), read into cells that have fields of the same names. */
#ifndef STEPWISE_ROWS_READ_H
#define STEPWISE_ROWS_READ_H

#include <stdio.h>

#include "stepwise.h"

struct rows;

/*
 * Reads the head from `stream`, called `name` in messages, and finds each field of the file among
 * `fields`, and the other way round. A field of the cell may be wider than that of the file, not
 * narrower. Then reads on to the end, so that no row is handed out of a file that is not as it was
 * written; the stream must be one that can be read again. NULL after a message.
 */
struct rows *rows_open(FILE *stream, const char *name, const struct stepwise_row_field *fields,
		       __u32 field_count);
void rows_close(struct rows *rows);

/* How many the file has. */
__u64 rows_count(const struct rows *rows);

/* Fills the fields of a zeroed cell from the next row; after the last one, also sees whether the
 * file has changed meanwhile. Negative after a message. */
int rows_next(struct rows *rows, void *cell);

#endif
