/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Prints entries and rows, for people or for programs. */
#ifndef STEPWISE_PRINT_FIELDS_H
#define STEPWISE_PRINT_FIELDS_H

#include <stdio.h>

#include "stepwise_drain.h"

enum fields_format {
	FIELDS_TEXT, /* name=value, separated by spaces; bytes as hexadecimal digits */
	FIELDS_JSON, /* an object; bytes as a string of hexadecimal digits */
};

/* Prints a line. */
void print_fields(FILE *stream, enum fields_format format,
		  const struct stepwise_shown_field *fields, __u32 count,
		  const unsigned char *bytes);

#endif
