/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include "base/json_writer.h"
#include "cli/print_fields.h"

static __u64 number_of(const unsigned char *bytes, __u32 size)
{
	__u64 number = 0;

	for (__u32 i = 0; i < size && i < sizeof(number); i++)
		number |= (__u64)bytes[i] << 8 * i;
	return number;
}

static void print_text(FILE *stream, const struct stepwise_shown_field *field,
		       const unsigned char *bytes)
{
	const __u64 number = number_of(bytes, field->size);

	fprintf(stream, "%s=", field->name);
	if (field->shown == STEPWISE_SHOWN_BYTES)
		for (__u32 i = 0; i < field->size; i++)
			fprintf(stream, "%02x", bytes[i]);
	else if (field->shown == STEPWISE_SHOWN_BOOL)
		fputs(number ? "true" : "false", stream);
	else if (number < field->member_count)
		fputs(field->members[number], stream);
	else
		fprintf(stream, "%llu", (unsigned long long)number);
}

static void print_json(struct json_writer *json, const struct stepwise_shown_field *field,
		       const unsigned char *bytes)
{
	const __u64 number = number_of(bytes, field->size);

	if (field->shown == STEPWISE_SHOWN_BYTES)
		json_bytes(json, field->name, bytes, field->size);
	else if (field->shown == STEPWISE_SHOWN_BOOL)
		json_bool(json, field->name, number);
	else if (number < field->member_count)
		json_string(json, field->name, field->members[number]);
	else
		json_number(json, field->name, number);
}

void print_fields(FILE *stream, enum fields_format format,
		  const struct stepwise_shown_field *fields, __u32 count,
		  const unsigned char *bytes)
{
	struct json_writer json = { .stream = stream };

	if (format == FIELDS_JSON) {
		json_object(&json, NULL);
		for (__u32 i = 0; i < count; i++)
			print_json(&json, &fields[i], bytes + fields[i].offset);
		json_end(&json);
		return;
	}
	for (__u32 i = 0; i < count; i++) {
		if (i)
			putc(' ', stream);
		print_text(stream, &fields[i], bytes + fields[i].offset);
	}
	putc('\n', stream);
}
