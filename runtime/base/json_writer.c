/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <assert.h>

#include "base/json_writer.h"

#define INDENT 2

/* Escapes what JSON does not allow in a string. Bytes of UTF-8 stay as they are. */
static void put_string(FILE *stream, const char *text)
{
	putc('"', stream);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fprintf(stream, "\\%c", *text);
		else if ((unsigned char)*text < 0x20)
			fprintf(stream, "\\u%04x", (unsigned char)*text);
		else
			putc(*text, stream);
	}
	putc('"', stream);
}

static struct json_container *innermost(struct json_writer *json)
{
	assert(json->depth);
	return &json->open[json->depth - 1];
}

static void start_line(struct json_writer *json, size_t depth)
{
	fprintf(json->stream, "\n%*s", (int)(INDENT * depth), "");
}

/* Writes what stands before an item's value. */
static void start_item(struct json_writer *json, const char *name)
{
	struct json_container *container;

	if (!json->depth)
		return;
	container = innermost(json);
	if (container->has_items)
		putc(',', json->stream);
	if (container->has_lines)
		start_line(json, json->depth);
	else if (container->has_items)
		putc(' ', json->stream);
	container->has_items = true;
	if (name) {
		put_string(json->stream, name);
		fputs(": ", json->stream);
	}
}

static void start_container(struct json_writer *json, const char *name, char begin, char end)
{
	start_item(json, name);
	putc(begin, json->stream);
	assert(json->depth < JSON_DEPTH_MAX);
	json->open[json->depth++] = (struct json_container){ .end = end };
}

void json_object(struct json_writer *json, const char *name)
{
	start_container(json, name, '{', '}');
}

void json_array(struct json_writer *json, const char *name)
{
	start_container(json, name, '[', ']');
}

void json_end(struct json_writer *json)
{
	const struct json_container *container = innermost(json);

	json->depth--;
	if (!json->depth && container->has_lines)
		start_line(json, 0);
	putc(container->end, json->stream);
	if (!json->depth)
		putc('\n', json->stream);
}

void json_lines(struct json_writer *json)
{
	innermost(json)->has_lines = true;
}

void json_string(struct json_writer *json, const char *name, const char *text)
{
	start_item(json, name);
	put_string(json->stream, text);
}

void json_number(struct json_writer *json, const char *name, __u64 number)
{
	start_item(json, name);
	fprintf(json->stream, "%llu", (unsigned long long)number);
}

void json_bool(struct json_writer *json, const char *name, bool value)
{
	start_item(json, name);
	fputs(value ? "true" : "false", json->stream);
}

void json_null(struct json_writer *json, const char *name)
{
	start_item(json, name);
	fputs("null", json->stream);
}

void json_bytes(struct json_writer *json, const char *name, const unsigned char *bytes, size_t size)
{
	start_item(json, name);
	putc('"', json->stream);
	for (size_t i = 0; i < size; i++)
		fprintf(json->stream, "%02x", bytes[i]);
	putc('"', json->stream);
}
