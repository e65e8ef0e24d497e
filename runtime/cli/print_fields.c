/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include "cli/print_fields.h"

static __u64 number_of(const unsigned char *bytes, __u32 size)
{
	__u64 number = 0;

	for (__u32 i = 0; i < size && i < sizeof(number); i++)
		number |= (__u64)bytes[i] << 8 * i;
	return number;
}

static void show_value(FILE *stream, enum fields_format format,
		       const struct stepwise_shown_field *field, const unsigned char *bytes)
{
	const char *quote = format == FIELDS_JSON ? "\"" : "";
	__u64 number;

	if (field->shown == STEPWISE_SHOWN_BYTES) {
		fputs(quote, stream);
		for (__u32 i = 0; i < field->size; i++)
			fprintf(stream, "%02x", bytes[i]);
		fputs(quote, stream);
		return;
	}
	number = number_of(bytes, field->size);
	if (field->shown == STEPWISE_SHOWN_BOOL)
		fputs(number ? "true" : "false", stream);
	else if (number < field->member_count)
		fprintf(stream, "%s%s%s", quote, field->members[number], quote);
	else
		fprintf(stream, "%llu", (unsigned long long)number);
}

void print_fields(FILE *stream, enum fields_format format,
		  const struct stepwise_shown_field *fields, __u32 count,
		  const unsigned char *bytes)
{
	for (__u32 i = 0; i < count; i++) {
		if (format == FIELDS_JSON)
			fprintf(stream, "%s\"%s\": ", i ? ", " : "{", fields[i].name);
		else
			fprintf(stream, "%s%s=", i ? " " : "", fields[i].name);
		show_value(stream, format, &fields[i], bytes + fields[i].offset);
	}
	fputs(format == FIELDS_JSON ? "}\n" : "\n", stream);
}

void show_string(FILE *stream, const char *text)
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
