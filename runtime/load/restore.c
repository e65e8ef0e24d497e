/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <bpf/bpf.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/log.h"
#include "base/privileges.h"
#include "load/loader.h"
#include "load/restore.h"
#include "segments/row_reader.h"
#include "state/pins.h"
#include "state/programs.h"
#include "state/seed.h"
#include "stepwise_sweep.h"

#define ATTEMPTS_MAX 1000
#define FAILURES_SHOWN 5
#define STANDARD "standard input"

struct restoring {
	const struct stepwise_protocol *protocol;
	const struct stepwise_restore *restore;
	const struct stepwise_table *table;
	struct row_reader *reader;
	int program_fd;
	unsigned char *cells;
	size_t cells_bytes;
	unsigned char *packet; /* struct stepwise_sweep and the protocol's record */
	__u32 packet_size;
	__u64 *fates; /* number of rows for each fate */
	__u64 restored;
	__u64 failed;
};

static unsigned char *cell(const struct restoring *restoring, __u32 number)
{
	return restoring->cells + (size_t)number * restoring->table->element_size;
}

static __u64 number_at(const unsigned char *cell, const struct stepwise_row_field *field)
{
	__u64 value = 0;

	memcpy(&value, cell + field->offset,
	       field->size < sizeof(value) ? field->size : sizeof(value));
	return value;
}

static int run_program(struct restoring *restoring, __u32 first, __u32 count, __u32 *visited)
{
	struct stepwise_sweep *request = (struct stepwise_sweep *)restoring->packet;
	DECLARE_LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = restoring->packet,
			    .data_out = restoring->packet, .data_size_in = restoring->packet_size,
			    .data_size_out = restoring->packet_size, .repeat = 1);
	int err;

	memset(restoring->packet, 0, restoring->packet_size);
	*request = (struct stepwise_sweep){ .first = first, .count = count };
	err = bpf_prog_test_run_opts(restoring->program_fd, &options);
	if (!err && (options.retval != XDP_PASS || request->visited > count))
		err = -EPROTO;
	if (err)
		log_error("cannot run %s on %u rows: %s", restoring->restore->pass.program, count,
			  strerror(-err));
	*visited = err ? 0 : request->visited;
	return err;
}

static bool any_pending(const struct restoring *restoring, __u32 count)
{
	for (__u32 i = 0; i < count; i++)
		if (!number_at(cell(restoring, i), &restoring->restore->fate))
			return true;
	return false;
}

/*
 * Runs the program on all filled cells. Repeats this while the fate of a row is pending, because a
 * cell that the row needs was contended.
 */
static int run_rows(struct restoring *restoring, __u32 count)
{
	int err = 0;

	for (int attempt = 0; !err && attempt < ATTEMPTS_MAX && any_pending(restoring, count);
	     attempt++) {
		__u32 first = 0, visited;

		while (!err && first < count) {
			__u32 chunk = count - first < STEPWISE_SWEEP_CHUNK_MAX ?
					      count - first :
					      STEPWISE_SWEEP_CHUNK_MAX;

			err = run_program(restoring, first, chunk, &visited);
			if (!visited)
				break;
			first += visited;
		}
	}
	return err;
}

/* Counts the outcome of each row. Reports the first rows that failed, by their first field. */
static void judge(struct restoring *restoring, __u32 count)
{
	const struct stepwise_restore *restore = restoring->restore;

	for (__u32 i = 0; i < count; i++) {
		__u64 fate = number_at(cell(restoring, i), &restore->fate);

		if (fate >= restore->fate_count)
			fate = 0;
		restoring->fates[fate]++;
		if (restore->done >> fate & 1) {
			restoring->restored++;
			continue;
		}
		if (restoring->failed++ < FAILURES_SHOWN)
			log_error("row %llu (%s %llu) was not restored: %s",
				  (unsigned long long)restoring->restored + restoring->failed,
				  restore->fields[0].name,
				  (unsigned long long)number_at(cell(restoring, i),
								&restore->fields[0]),
				  restore->fates[fate]);
	}
}

static int restore_rows(struct restoring *restoring)
{
	__u64 left = row_reader_count(restoring->reader);
	int err = 0;

	while (!err && left) {
		__u32 count = left < restoring->table->capacity ? (__u32)left :
								  restoring->table->capacity;

		for (__u32 i = 0; !err && i < count; i++) {
			memset(cell(restoring, i), 0, restoring->table->element_size);
			err = row_reader_next(restoring->reader, cell(restoring, i));
			if (!err)
				restoring->restore->complete(cell(restoring, i));
		}
		if (!err)
			err = run_rows(restoring, count);
		if (!err)
			judge(restoring, count);
		left -= count;
	}
	return err;
}

static int open_restoring(struct restoring *restoring)
{
	char path[PATH_MAX];
	int fd, err;

	restoring->packet_size = sizeof(struct stepwise_sweep) + restoring->protocol->sweep_size;
	restoring->packet = malloc(restoring->packet_size);
	restoring->fates = calloc(restoring->restore->fate_count, sizeof(*restoring->fates));
	if (!restoring->packet || !restoring->fates) {
		log_error("cannot restore %s: %s", restoring->protocol->name, strerror(ENOMEM));
		return -ENOMEM;
	}
	err = seed_take(restoring->protocol);
	if (err)
		return err;
	restoring->program_fd = open_pinned_program(restoring->restore->pass.program);
	if (restoring->program_fd < 0)
		return restoring->program_fd;
	err = pins_path(path, "state/tables/%s", restoring->table->name);
	if (err)
		return err;
	fd = bpf_obj_get(path);
	restoring->cells_bytes =
		(size_t)restoring->table->capacity * restoring->table->element_size;
	restoring->cells = fd < 0 ? MAP_FAILED :
				    mmap(NULL, restoring->cells_bytes, PROT_READ | PROT_WRITE,
					 MAP_SHARED, fd, 0);
	err = restoring->cells == MAP_FAILED ? -errno : 0;
	if (fd >= 0)
		close(fd);
	if (err) {
		restoring->cells = NULL;
		log_error("cannot map the rows' table %s: %s", path, strerror(-err));
	}
	return err;
}

static void close_restoring(struct restoring *restoring)
{
	if (restoring->cells)
		munmap(restoring->cells, restoring->cells_bytes);
	if (restoring->program_fd >= 0)
		close(restoring->program_fd);
	free(restoring->packet);
	free(restoring->fates);
}

static void report(const struct restoring *restoring, double seconds)
{
	const struct stepwise_restore *restore = restoring->restore;
	__u64 total = restoring->restored + restoring->failed;

	log_info("%llu rows in %.2f s, %.2f million a second", (unsigned long long)total, seconds,
		 seconds > 0 ? (double)total / seconds / 1e6 : 0);
	for (__u32 i = 0; i < restore->fate_count; i++)
		if (restoring->fates[i])
			log_info("  %-16s %llu", restore->fates[i],
				 (unsigned long long)restoring->fates[i]);
}

/* Restores all rows. The tables are there, and the protocol serves nobody. */
static int restore_all(struct restoring *restoring)
{
	double began = clock_now_seconds();
	int err = open_restoring(restoring);

	if (!err)
		err = restore_rows(restoring);
	if (!err)
		report(restoring, clock_now_seconds() - began);
	if (!err && restoring->failed) {
		log_error("%llu of %llu rows were not restored",
			  (unsigned long long)restoring->failed,
			  (unsigned long long)(restoring->restored + restoring->failed));
		err = -ENOSPC;
	}
	close_restoring(restoring);
	return err;
}

static int restore_stream(struct restoring *restoring, FILE *stream, const char *name, bool first)
{
	int err, hold;

	restoring->reader = row_reader_open(stream, name, restoring->restore->fields,
					    restoring->restore->field_count);
	if (!restoring->reader)
		return -EINVAL;
	hold = load_tables(restoring->protocol, first);
	err = hold < 0 ? hold : restore_all(restoring);
	if (hold >= 0)
		close(hold);
	row_reader_close(restoring->reader);
	return err;
}

/* Opens the rows as a stream that can be read twice. */
static FILE *open_rows(const char *path, bool standard)
{
	struct stat status;
	FILE *stream;
	int fd;

	if (standard && fstat(STDIN_FILENO, &status) == 0 && S_ISREG(status.st_mode))
		return stdin;
	if (standard)
		return files_spool(stdin, STANDARD);
	fd = files_open_path(path, "`restore -` reads standard input");
	stream = fd < 0 ? NULL : fdopen(fd, "r");
	if (fd >= 0 && !stream) {
		log_error("cannot read %s: %s", path, strerror(errno));
		close(fd);
	}
	return stream;
}

int command_restore(const struct stepwise_protocol *protocol, const char *path, bool first)
{
	bool standard = !strcmp(path, "-");
	struct restoring restoring = { .protocol = protocol,
				       .restore = protocol->restore,
				       .program_fd = -1 };
	FILE *stream;
	int err;

	if (!protocol->restore) {
		log_error("cannot restore rows of %s: its layout has no `restore`", protocol->name);
		return -EOPNOTSUPP;
	}
	restoring.table = &protocol->tables[protocol->restore->pass.table];
	err = privileges_check("restore rows");
	if (err)
		return err;
	stream = open_rows(path, standard);
	if (!stream)
		return -EIO;
	err = restore_stream(&restoring, stream, standard ? STANDARD : path, first);
	if (stream != stdin)
		fclose(stream);
	return err;
}
