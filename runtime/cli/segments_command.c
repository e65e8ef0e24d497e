/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
	printf("{\"protocol\": \"%s\", \"is_written\": %s, \"segments\": %llu, \"first\": %llu, \"last\": %llu, \"epoch\": %llu, ",
	       entries->protocol, is_written ? "true" : "false",
	       (unsigned long long)reading->segments, (unsigned long long)reading->first,
	       (unsigned long long)reading->last, (unsigned long long)reading->header.epoch);
	printf("\"entries\": %llu, \"bytes\": %llu, \"cut_bytes\": %llu, \"cut_whole\": %llu, \"corrupt\": %llu, \"numbers\": [",
	       (unsigned long long)reading->entries, (unsigned long long)reading->bytes,
	       (unsigned long long)reading->cut_bytes, (unsigned long long)reading->cut_whole,
	       (unsigned long long)reading->corrupt);
	for (__u32 lane = 0; lane < entries->lanes; lane++)
		printf("%s%llu", lane ? ", " : "", (unsigned long long)reading->numbers[lane]);
	printf("], \"findings\": [");
	for (size_t i = 0; i < reading->finding_count; i++) {
		const struct segments_finding *finding = &reading->findings[i];

		printf("%s{\"file\": \"%s\", \"offset\": %llu, \"bytes\": %llu, \"is_cut\": %s, \"text\": ",
		       i ? ", " : "", finding->file, (unsigned long long)finding->offset,
		       (unsigned long long)finding->bytes, finding->is_cut ? "true" : "false");
		show_string(stdout, finding->text);
		printf("}");
	}
	printf("]}\n");
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
	       is_written ? ", and a daemon goes on" : "");
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
