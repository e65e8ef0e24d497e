/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Writes JSON to a stream, with the commas, the lines and the escapes, so that a caller only names
 * its items. An item of an object has a name. An item of an array has none (NULL), and neither has
 * the outermost container.
 */
#ifndef STEPWISE_JSON_WRITER_H
#define STEPWISE_JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <linux/types.h>

#define JSON_DEPTH_MAX 4 /* maximum number of containers inside one another */

struct json_container {
	char end; /* its closing bracket */
	bool has_items;
	bool has_lines; /* its further items start a line each */
};

struct json_writer {
	FILE *stream;
	size_t depth; /* number of open containers */
	struct json_container open[JSON_DEPTH_MAX];
};

/* Starts a container. json_end() closes the innermost one. The outermost one ends its line. */
void json_object(struct json_writer *json, const char *name);
void json_array(struct json_writer *json, const char *name);
void json_end(struct json_writer *json);

/* Gives each further item of the innermost container a line of its own. */
void json_lines(struct json_writer *json);

void json_string(struct json_writer *json, const char *name, const char *text);
void json_number(struct json_writer *json, const char *name, __u64 number);
void json_bool(struct json_writer *json, const char *name, bool value);
void json_null(struct json_writer *json, const char *name);

/* Adds a string of hexadecimal digits. */
void json_bytes(struct json_writer *json, const char *name, const unsigned char *bytes,
		size_t size);

#endif
