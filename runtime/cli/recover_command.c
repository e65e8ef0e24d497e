/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Writes the rows of a recovery to a file or a pipe, in the format of stepwise_rows.h. */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/files.h"
#include "base/log.h"
#include "cli/print_fields.h"
#include "cli/segments_command.h"
#include "segments/recovery.h"
#include "segments/segment_reader.h"
#include "segments/segments.h"
#include "segments/segments_folder.h"
#include "stepwise_rows.h"

#define BUFFER_BYTES (1 << 20)

/* Entries that a daemon may write between the counting and the reading. */
#define ENTRIES_SPARE 4194304

static void write_text(FILE *stream, const struct recovery *recovery,
		       const struct stepwise_recovery *steps, unsigned char *row)
{
	for (__u64 i = 0; i < recovery_keys(recovery); i++) {
		steps->row(row, recovery_key(recovery, i), recovery_cell(recovery, i));
		print_fields(stream, FIELDS_TEXT, steps->fields, steps->field_count, row);
	}
}

struct summed {
	FILE *stream;
	__u32 sum;
};

static void write_summed(struct summed *to, const void *bytes, size_t size)
{
	to->sum = crc32c(to->sum, bytes, size);
	fwrite(bytes, size, 1, to->stream);
}

static void write_head(struct summed *to, const struct stepwise_recovery *steps, __u64 count)
{
	const struct stepwise_rows_head head = {
		.magic = STEPWISE_ROWS_MAGIC,
		.version = htole32(STEPWISE_ROWS_VERSION),
		.field_count = htole32(steps->field_count),
		.row_size = htole32(steps->row_size),
		.row_count = htole64(count),
	};

	write_summed(to, &head, sizeof(head));
	for (__u32 i = 0; i < steps->field_count; i++) {
		struct stepwise_rows_field field = {
			.offset = htole32(steps->fields[i].offset),
			.size = htole32(steps->fields[i].size),
			.bytes = htole32(steps->fields[i].shown == STEPWISE_SHOWN_BYTES),
		};

		strncpy(field.name, steps->fields[i].name, sizeof(field.name) - 1);
		write_summed(to, &field, sizeof(field));
	}
}

static void write_binary(FILE *stream, const struct recovery *recovery,
			 const struct stepwise_recovery *steps, unsigned char *row)
{
	struct summed to = { .stream = stream };
	__le32 sum;

	write_head(&to, steps, recovery_keys(recovery));
	for (__u64 i = 0; i < recovery_keys(recovery); i++) {
		steps->row(row, recovery_key(recovery, i), recovery_cell(recovery, i));
		write_summed(&to, row, steps->row_size);
	}
	sum = htole32(to.sum);
	fwrite(&sum, sizeof(sum), 1, stream);
}

/*
 * The output replaces an existing file of that name, so only a file is allowed there. A link is
 * itself replaced.
 */
static int check_output(const char *output)
{
	struct stat status;

	if (lstat(output, &status) || S_ISREG(status.st_mode) || S_ISLNK(status.st_mode))
		return 0;
	log_error(
		"cannot write rows to %s: it is %s, and not a regular file; without --output, rows go to standard output",
		output, files_kind(status.st_mode));
	return -EINVAL;
}

/*
 * The file has another name until it is complete and on the disk. The caller frees *partial, also
 * on failure.
 */
static int open_output(const char *output, char **partial, FILE **stream)
{
	int fd, err;

	*partial = NULL;
	*stream = stdout;
	if (!output)
		return 0;
	err = check_output(output);
	if (err)
		return err;
	if (asprintf(partial, "%s.new", output) < 0) {
		*partial = NULL; /* asprintf() leaves it undefined */
		log_error("cannot write rows to %s: %s", output, strerror(ENOMEM));
		return -ENOMEM;
	}
	fd = files_make(AT_FDCWD, NULL, *partial, NULL);
	if (fd < 0)
		return fd;
	*stream = fdopen(fd, "w");
	if (*stream)
		return 0;
	err = -errno;
	log_error("cannot write rows to %s: %s", output, strerror(-err));
	close(fd);
	unlink(*partial);
	return err;
}

static int end_output(FILE *stream, const char *output, const char *partial)
{
	int err = ferror(stream) || fflush(stream) ? -EIO : 0;

	if (!err && output && (fsync(fileno(stream)) || rename(partial, output)))
		err = -errno;
	if (err)
		log_error("cannot write rows to %s: %s", output ? output : "standard output",
			  strerror(-err));
	if (stream != stdout)
		fclose(stream);
	if (err && output)
		unlink(partial);
	return err;
}

static int write_rows(const struct recovery *recovery, const struct stepwise_recovery *steps,
		      const struct segments_options *options)
{
	unsigned char *row = malloc(steps->row_size);
	char *partial = NULL;
	FILE *stream;
	int err = row ? open_output(options->output, &partial, &stream) : -ENOMEM;

	if (!row)
		log_error("cannot write rows: %s", strerror(ENOMEM));
	if (!err) {
		setvbuf(stream, NULL, _IOFBF, BUFFER_BYTES);
		if (options->text)
			write_text(stream, recovery, steps, row);
		else
			write_binary(stream, recovery, steps, row);
		/* NOLINTNEXTLINE(clang-analyzer-unix.Stream): it closes all but stdout. */
		err = end_output(stream, options->output, partial);
	}
	free(partial);
	free(row);
	return err;
}

static void report(const struct segments_reading *reading, __u64 keys, double took, bool is_written)
{
	log_info("%llu segment%s, %llu entries, %llu bytes%s",
		 (unsigned long long)reading->segments, reading->segments == 1 ? "" : "s",
		 (unsigned long long)reading->entries, (unsigned long long)reading->bytes,
		 is_written ? "; a daemon still writes, and its later entries are not included" :
			      "");
	log_info("%llu bytes cut, %llu places corrupt", (unsigned long long)reading->cut_bytes,
		 (unsigned long long)reading->corrupt);
	log_info("%llu keys, in %.3f s: %.0f entries a second", (unsigned long long)keys, took,
		 reading->entries / (took > 0 ? took : 1e-9));
}

static int recover(int fd, bool is_written, const struct stepwise_entries *entries,
		   const struct stepwise_recovery *steps, const char *folder,
		   const struct segments_options *options)
{
	const ssize_t entries_max = segments_entries_max(fd, folder, entries);
	const double began = clock_now_seconds();
	struct segments_reading reading;
	struct recovery *recovery;
	int err, corrupt;

	if (entries_max < 0)
		return entries_max;
	recovery = recovery_open(entries, steps, entries_max + (is_written ? ENTRIES_SPARE : 0));
	if (!recovery)
		return -ENOMEM;
	err = segments_read(fd, folder, entries, SEGMENTS_ALL, recovery_take, recovery, &reading);
	if (!err) {
		report(&reading, recovery_keys(recovery), clock_now_seconds() - began, is_written);
		corrupt = segments_reading_say(&reading, folder);
		err = write_rows(recovery, steps, options) ?: corrupt;
	}
	segments_reading_free(&reading);
	recovery_close(recovery);
	return err;
}

int command_recover(const struct stepwise_entries *entries, const struct stepwise_recovery *steps,
		    const char *folder, const struct segments_options *options)
{
	bool is_written;
	int err, fd;

	if (!options->output && !options->text && isatty(STDOUT_FILENO)) {
		log_error(
			"cannot write rows to a terminal: they are binary; use --text, or --output FILE");
		return -ENOTTY;
	}
	fd = segments_folder_open(folder, &is_written);
	if (fd < 0)
		return fd;
	err = recover(fd, is_written, entries, steps, folder, options);
	close(fd);
	return err;
}
