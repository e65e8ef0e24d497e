/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Entries and rows for a reader, human or not. */
#ifndef STEPWISE_SHOWN_H
#define STEPWISE_SHOWN_H

#include <stdio.h>

#include "stepwise_drain.h"

enum shown_format {
	SHOWN_TEXT, /* name=value, with a space between: bytes in hexadecimal digits */
	SHOWN_JSON, /* an object; bytes as a string of such digits */
};

/* A line. */
void show_fields(FILE *stream, enum shown_format format, const struct stepwise_shown_field *fields,
		 __u32 count, const unsigned char *bytes);

/* A JSON string. */
void show_string(FILE *stream, const char *text);

#endif
