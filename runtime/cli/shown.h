/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Prints entries and rows, for people or for programs. */
#ifndef STEPWISE_SHOWN_H
#define STEPWISE_SHOWN_H

#include <stdio.h>

#include "stepwise_drain.h"

enum shown_format {
	SHOWN_TEXT, /* name=value, separated by spaces; bytes as hexadecimal digits */
	SHOWN_JSON, /* an object; bytes as a string of hexadecimal digits */
};

/* Prints a line. */
void show_fields(FILE *stream, enum shown_format format, const struct stepwise_shown_field *fields,
		 __u32 count, const unsigned char *bytes);

/* Prints a JSON string. */
void show_string(FILE *stream, const char *text);

#endif
