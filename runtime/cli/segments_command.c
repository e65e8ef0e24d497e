/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json_writer.h"
#include "base/log.h"
#include "cli/print_fields.h"
#include "cli/segments_command.h"
#include "segments/segment_reader.h"
#include "segments/segments.h"
#include "segments/segments_folder.h"

struct showing {
	const struct stepwise_entries *entries;
	enum fields_format format;
};

static int show_entries(void *context, const unsigned char *bytes, size_t count)
{
	const struct showing *showing = context;
	const size_t stride = segment_stride(showing->entries);

	for (size_t i = 0; i < count; i++)
		print_fields(stdout, showing->format, showing->entries->fields,
			     showing->entries->field_count, bytes + i * stride);
	return 0;
}

static void print_json(const struct stepwise_entries *entries,
		       const struct segments_reading *reading, bool is_written)
{
	struct json_writer json = { .stream = stdout };

	json_object(&json, NULL);
	json_string(&json, "protocol", entries->protocol);
	json_bool(&json, "is_written", is_written);
	json_number(&json, "segments", reading->segments);
	json_number(&json, "first", reading->first);
	json_number(&json, "last", reading->last);
	json_number(&json, "epoch", reading->header.epoch);
	json_number(&json, "entries", reading->entries);
	json_number(&json, "bytes", reading->bytes);
	json_number(&json, "cut_bytes", reading->cut_bytes);
	json_number(&json, "cut_whole", reading->cut_whole);
	json_number(&json, "corrupt", reading->corrupt);
	json_array(&json, "numbers");
	for (__u32 lane = 0; lane < entries->lanes; lane++)
		json_number(&json, NULL, reading->numbers[lane]);
	json_end(&json);
	json_array(&json, "findings");
	for (size_t i = 0; i < reading->finding_count; i++) {
		const struct segments_finding *finding = &reading->findings[i];

		json_object(&json, NULL);
		json_string(&json, "file", finding->file);
		json_number(&json, "offset", finding->offset);
		json_number(&json, "bytes", finding->bytes);
		json_bool(&json, "is_cut", finding->is_cut);
		json_string(&json, "text", finding->text);
		json_end(&json);
	}
	json_end(&json);
	json_end(&json);
}

static void print_text(const struct stepwise_entries *entries,
		       const struct segments_reading *reading, bool is_written)
{
	if (!reading->segments) {
		printf("no segments\n");
		return;
	}
	printf("%llu segment%s, %08llu.log to %08llu.log, %llu entries, %llu bytes%s\n",
	       (unsigned long long)reading->segments, reading->segments == 1 ? "" : "s",
	       (unsigned long long)reading->first, (unsigned long long)reading->last,
	       (unsigned long long)reading->entries, (unsigned long long)reading->bytes,
	       is_written ? "; a daemon still writes" : "");
	printf("epoch %llu, to number", (unsigned long long)reading->header.epoch);
	for (__u32 lane = 0; lane < entries->lanes; lane++)
		printf(" %llu", (unsigned long long)reading->numbers[lane]);
	printf(" of its lanes\n");
}

int command_segments(const struct stepwise_entries *entries, const char *folder,
		     const struct segments_options *options)
{
	struct showing showing = { .entries = entries,
				   .format = options->json ? FIELDS_JSON : FIELDS_TEXT };
	struct segments_reading reading;
	bool is_written;
	int err, fd = segments_folder_open(folder, &is_written);

	if (fd < 0)
		return fd;
	err = segments_read(fd, folder, entries, SEGMENTS_ALL,
			    options->entries ? show_entries : NULL, &showing, &reading);
	if (!err && options->json)
		print_json(entries, &reading, is_written);
	else if (!err)
		print_text(entries, &reading, is_written);
	if (!err)
		err = segments_reading_say(&reading, folder);
	segments_reading_free(&reading);
	close(fd);
	return err;
}

int command_truncate(const struct stepwise_entries *entries, const char *folder,
		     const struct segments_options *options)
{
	const int removed = segments_truncate(folder, entries, options->before);

	if (removed < 0)
		return removed;
	log_info("removed %d segment%s from %s", removed, removed == 1 ? "" : "s", folder);
	return 0;
}
