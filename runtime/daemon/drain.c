/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/eventfd.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/drain.h"
#include "segments/segment_file.h"
#include "segments/segments.h"
#include "state/tables.h"

/*
 * Pause between two looks at the tables: the minimum after a batch with room left, and then longer
 * and longer while no records come. A look takes the cache lines that were written last away from
 * the processor that goes on writing there.
 */
#define PAUSE_NS_MIN 200000u
#define PAUSE_NS_MAX 1000000u

/* The maximum of all builds that may have written before this one. */
#define BATCH_MAX 65536

/* Pause before the daemon tries again to write a batch that found no room. */
#define FULL_PAUSE_NS 100000000u

/*
 * Time for draining the tables when the daemon stops, because they may be filled as fast as they
 * are emptied.
 */
#define END_NS_MAX 2000000000ull

struct drain {
	const struct stepwise_drain *steps;
	const char *name;
	__u32 lanes;
	struct tables *opened;
	const struct stepwise_tables *tables;
	struct segments *segments;
	struct daemon_statistics *statistics;
	int event_fd;
	bool has_threads;
	pthread_t writer;
	pthread_t syncer;
	unsigned char *entries; /* room for a batch of every lane */
	__u32 *taken;		/* number of records of each lane in the batch */
	bool was_full;		/* the last write found no room */
	bool may_rotate;

	pthread_mutex_t guard;
	pthread_cond_t changed; /* signals changes of the fields under the guard */
	/* The guard protects these: */
	struct stepwise_place *written; /* for each lane, the last record in a file */
	__u64 written_size;		/* size of the last segment */
	__u64 synced_size;
	bool is_syncing;
	bool is_urgent;	  /* a sync must not wait for further records */
	bool is_stopping; /* no more records are taken */
	bool is_complete; /* no more records are written */
	int failed;	  /* the error that ends the daemon */
	/* Only the syncer accesses these: */
	struct stepwise_place *covered; /* `written` when a sync started */
	struct stepwise_place *synced;	/* `covered` of the last sync that finished */
};

static void pause_ns(__u64 duration_ns)
{
	const struct timespec duration = { duration_ns / 1000000000, duration_ns % 1000000000 };

	nanosleep(&duration, NULL);
}

static void announce(const struct drain *drain)
{
	const __u64 one = 1;

	if (write(drain->event_fd, &one, sizeof(one)) < 0)
		log_debug("the drain's event: %s", strerror(errno));
}

static void fail(struct drain *drain, int err)
{
	pthread_mutex_lock(&drain->guard);
	if (!drain->failed)
		drain->failed = err;
	pthread_cond_broadcast(&drain->changed);
	pthread_mutex_unlock(&drain->guard);
	announce(drain);
}

/* --- The thread that writes ------------------------------------------------------------------- */

/*
 * Takes the waiting records of every lane. *is_more: a lane filled its whole batch, and may have
 * more.
 */
static size_t take_batch(struct drain *drain, bool *is_more)
{
	const size_t stride = segment_stride(drain->steps->entries);
	size_t count = 0;

	*is_more = false;
	for (__u32 lane = 0; lane < drain->lanes; lane++) {
		drain->taken[lane] = drain->steps->take(drain->tables, lane,
							drain->entries + count * stride, stride,
							drain->steps->batch);
		*is_more |= drain->taken[lane] == drain->steps->batch;
		count += drain->taken[lane];
	}
	return count;
}

/*
 * Publishes what is in a file now: to the syncer, and to the tables, which can then reuse the
 * slots.
 */
static void publish(struct drain *drain)
{
	pthread_mutex_lock(&drain->guard);
	for (__u32 lane = 0; lane < drain->lanes; lane++)
		drain->written[lane].number = segments_number(drain->segments, lane);
	drain->written_size = segments_size(drain->segments);
	pthread_cond_broadcast(&drain->changed);
	pthread_mutex_unlock(&drain->guard);
	for (__u32 lane = 0; lane < drain->lanes; lane++)
		if (drain->taken[lane])
			drain->steps->written(drain->tables, &drain->written[lane]);
}

static void say_full(struct drain *drain, int err)
{
	drain->statistics->drain_full++;
	if (!drain->was_full)
		log_error(
			"cannot write drained records: %s; they stay in the tables, which refuse new ones when they are full; make room, and the drain continues",
			strerror(-err));
	drain->was_full = true;
}

/*
 * Returns the number of drained records, or a negative errno. After -ENOSPC and the like, the
 * caller may try again.
 */
static ssize_t drain_once(struct drain *drain, bool *is_more)
{
	const size_t count = take_batch(drain, is_more);
	int err = count ? segments_append(drain->segments, drain->entries, count) : 0;

	if (err || !count)
		return err;
	publish(drain);
	drain->statistics->drain_records += count;
	drain->statistics->drain_batches++;
	drain->statistics->drain_bytes += count * segments_stride(drain->segments);
	if (drain->was_full)
		log_info("there is room again for drained records");
	drain->was_full = false;
	drain->may_rotate = true;
	return count;
}

static bool is_stopping(struct drain *drain)
{
	bool stopping;

	pthread_mutex_lock(&drain->guard);
	stopping = drain->is_stopping || drain->failed;
	pthread_mutex_unlock(&drain->guard);
	return stopping;
}

/*
 * Waits until everything written is synced and no sync is running. Returns false if that will not
 * happen.
 */
static bool await_synced(struct drain *drain)
{
	bool synced;

	pthread_mutex_lock(&drain->guard);
	while (!drain->failed && (drain->is_syncing || drain->synced_size != drain->written_size)) {
		drain->is_urgent = true;
		pthread_cond_broadcast(&drain->changed);
		pthread_cond_wait(&drain->changed, &drain->guard);
	}
	synced = !drain->failed;
	pthread_mutex_unlock(&drain->guard);
	return synced;
}

static int rotate(struct drain *drain)
{
	int err;

	if (!await_synced(drain))
		return 0;
	err = segments_rotate(drain->segments);
	if (err) {
		/* Keep appending to the current segment, until there is room for another. */
		drain->may_rotate = false;
		return segments_no_room(err) ? 0 : err;
	}
	pthread_mutex_lock(&drain->guard);
	drain->written_size = drain->synced_size = segments_size(drain->segments);
	pthread_mutex_unlock(&drain->guard);
	drain->statistics->drain_segments++;
	return 0;
}

static void *run_writer(void *context)
{
	struct drain *drain = context;
	__u64 pause = PAUSE_NS_MIN;
	int err = 0;

	while (!is_stopping(drain)) {
		bool is_more;
		const ssize_t count = drain_once(drain, &is_more);

		if (segments_no_room(count))
			say_full(drain, count);
		else if (count < 0)
			err = count;
		if (!err && drain->may_rotate &&
		    segments_size(drain->segments) >= drain->steps->segment_bytes)
			err = rotate(drain);
		if (err) {
			fail(drain, err);
			break;
		}
		pause = count ? PAUSE_NS_MIN : pause < PAUSE_NS_MAX ? 2 * pause : PAUSE_NS_MAX;
		if (count <= 0 || !is_more)
			pause_ns(count < 0 ? FULL_PAUSE_NS : pause);
	}
	return NULL;
}

/* --- The thread that syncs -------------------------------------------------------------------- */

/*
 * Waits for entries to sync, and then for further ones for a while. Returns false if there will be
 * none.
 */
static bool await_written(struct drain *drain)
{
	const __u64 wait_ns = drain->steps->sync_ms * 1000000ull;
	struct timespec until;
	__u64 deadline;

	while (!drain->failed && !drain->is_complete && drain->written_size == drain->synced_size)
		pthread_cond_wait(&drain->changed, &drain->guard);
	if (drain->failed || drain->written_size == drain->synced_size)
		return false;
	deadline = clock_now_ns() + wait_ns;
	until = (struct timespec){ deadline / 1000000000, deadline % 1000000000 };
	while (!drain->failed && !drain->is_complete && !drain->is_urgent)
		if (pthread_cond_timedwait(&drain->changed, &drain->guard, &until))
			break;
	return !drain->failed;
}

/* Publishes what is on the disk: to the tables, and to those who wait for it. */
static void move_marks(struct drain *drain)
{
	for (__u32 lane = 0; lane < drain->lanes; lane++) {
		if (drain->covered[lane].number == drain->synced[lane].number)
			continue;
		drain->steps->synced(drain->tables, &drain->covered[lane]);
		drain->synced[lane] = drain->covered[lane];
	}
	announce(drain);
}

static void count_sync(struct drain *drain, __u64 took_ns)
{
	drain->statistics->drain_syncs++;
	drain->statistics->drain_sync_us += took_ns / 1000;
	drain->statistics->drain_sync_last_us = took_ns / 1000;
}

static void *run_syncer(void *context)
{
	struct drain *drain = context;

	pthread_mutex_lock(&drain->guard);
	while (await_written(drain)) {
		const __u64 covered_size = drain->written_size;
		__u64 began;
		int err;

		memcpy(drain->covered, drain->written, drain->lanes * sizeof(*drain->covered));
		drain->is_syncing = true;
		drain->is_urgent = false;
		pthread_mutex_unlock(&drain->guard);
		began = clock_now_ns();
		err = segments_sync(drain->segments);
		if (err) {
			fail(drain, err);
			return NULL;
		}
		count_sync(drain, clock_now_ns() - began);
		move_marks(drain);
		pthread_mutex_lock(&drain->guard);
		drain->is_syncing = false;
		drain->synced_size = covered_size;
		pthread_cond_broadcast(&drain->changed);
	}
	pthread_mutex_unlock(&drain->guard);
	return NULL;
}

/* --- Start-up --------------------------------------------------------------------------------- */

/* Returns the epoch of the tables, from the lanes that have one; 0 if none has. */
static __u64 epoch_of_tables(const struct drain *drain)
{
	__u64 epoch = 0;

	for (__u32 lane = 0; lane < drain->lanes; lane++) {
		struct stepwise_place written, synced;

		drain->steps->marks(drain->tables, lane, &written, &synced);
		epoch = synced.epoch > epoch ? synced.epoch : epoch;
	}
	return epoch;
}

/*
 * True if the tables still have the records that an earlier daemon wrote but did not mark. There is
 * at most one batch of them.
 */
static bool tables_have(const struct drain *drain, __u32 lane, __u64 count)
{
	const size_t stride = segments_stride(drain->segments);
	unsigned char *entries;
	bool have;

	if (!count || count > BATCH_MAX)
		return !count;
	entries = malloc(count * stride);
	have = entries && drain->steps->take(drain->tables, lane, entries, stride, count) == count;
	free(entries);
	return have;
}

/*
 * Checks that the files of a lane have all records that the tables have released, and that the
 * tables still have the records that the files have beyond that. Files of other tables would fail
 * this.
 */
static int check_lane(const struct drain *drain, const char *folder, __u32 lane)
{
	const __u64 number = segments_number(drain->segments, lane);
	struct stepwise_place written, synced;
	__u64 said;

	drain->steps->marks(drain->tables, lane, &written, &synced);
	said = written.number > synced.number ? written.number : synced.number;
	if (number < said) {
		log_error(
			"cannot drain to %s: lane %u ends at number %llu there, but %llu was written; the files were changed, or the disk lost data; `recover` rebuilds from the rest; to continue, name another folder and purge the tables",
			folder, lane, (unsigned long long)number, (unsigned long long)said);
		return -EBADMSG;
	}
	if (tables_have(drain, lane, number - written.number))
		return 0;
	log_error(
		"cannot drain to %s: lane %u ends at number %llu there, but the tables have written %llu and no longer have the records between; name the folder that these tables drained to, or purge them",
		folder, lane, (unsigned long long)number, (unsigned long long)written.number);
	return -EMEDIUMTYPE;
}

static int check_belongs(const struct drain *drain, const char *folder, __u64 epoch)
{
	if (segments_epoch(drain->segments) != epoch) {
		log_error(
			"cannot drain to %s: its last segment is of epoch %llu%s, but the tables are of epoch %llu; name the folder that they drained to, or purge them, which loses the records that were not drained",
			folder, (unsigned long long)segments_epoch(drain->segments),
			segments_epoch(drain->segments) ? "" : " (there is none)",
			(unsigned long long)epoch);
		return -EMEDIUMTYPE;
	}
	for (__u32 lane = 0; lane < drain->lanes; lane++) {
		const int err = check_lane(drain, folder, lane);

		if (err)
			return err;
	}
	return 0;
}

static int begin_epoch(const struct drain *drain, const char *folder)
{
	const __u64 epoch = segments_epoch(drain->segments) + 1;

	if (epoch <= drain->steps->entries->epoch_max)
		return segments_begin_epoch(drain->segments, epoch);
	log_error("cannot drain to %s: epoch %llu is the last possible one; name another folder",
		  folder, (unsigned long long)drain->steps->entries->epoch_max);
	return -EOVERFLOW;
}

/*
 * Starts the epoch in lanes without one, and updates the marks of each lane from the files. An
 * earlier daemon may have died between writing and marking.
 */
static void tell_tables(struct drain *drain)
{
	const __u64 epoch = segments_epoch(drain->segments);

	for (__u32 section = 0; section < drain->steps->begins_count; section++) {
		for (__u32 lane = 0; lane < drain->lanes; lane++) {
			const struct stepwise_place begins = { .epoch = epoch, .lane = lane };

			drain->steps->begins(drain->tables, section, &begins);
		}
	}
	for (__u32 lane = 0; lane < drain->lanes; lane++) {
		const struct stepwise_place place = { .epoch = epoch,
						      .number = segments_number(drain->segments,
										lane),
						      .lane = lane };

		drain->written[lane] = drain->covered[lane] = drain->synced[lane] = place;
		if (!place.number)
			continue;
		drain->steps->written(drain->tables, &place);
		drain->steps->synced(drain->tables, &place);
	}
	drain->written_size = drain->synced_size = segments_size(drain->segments);
}

static int open_memory(struct drain *drain)
{
	const __u32 lanes = drain->lanes;
	pthread_condattr_t attributes;

	pthread_mutex_init(&drain->guard, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&drain->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	drain->written = calloc(lanes, sizeof(*drain->written));
	drain->covered = calloc(lanes, sizeof(*drain->covered));
	drain->synced = calloc(lanes, sizeof(*drain->synced));
	drain->taken = calloc(lanes, sizeof(*drain->taken));
	drain->entries =
		malloc((size_t)lanes * drain->steps->batch * segment_stride(drain->steps->entries));
	drain->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (drain->written && drain->covered && drain->synced && drain->taken && drain->entries &&
	    drain->event_fd >= 0)
		return 0;
	log_error("cannot drain %s: %s", drain->name, strerror(errno));
	return -ENOMEM;
}

struct drain *drain_open(const struct stepwise_protocol *protocol,
			 struct daemon_statistics *statistics)
{
	struct drain *drain = calloc(1, sizeof(*drain));

	if (!drain) {
		log_error("cannot drain %s: %s", protocol->name, strerror(ENOMEM));
		return NULL;
	}
	drain->steps = protocol->drain;
	drain->name = protocol->name;
	drain->lanes = protocol->drain->entries->lanes;
	drain->statistics = statistics;
	drain->event_fd = -1;
	drain->may_rotate = true;
	drain->opened = tables_open(protocol, NULL, NULL);
	if (drain->opened && !open_memory(drain)) {
		drain->tables = tables_interface(drain->opened);
		return drain;
	}
	drain_close(drain);
	return NULL;
}

bool drain_may_run(const struct drain *drain)
{
	return tables_may_read(drain->opened);
}

static int open_segments(struct drain *drain, const char *folder)
{
	const __u64 epoch = epoch_of_tables(drain);
	int err = segments_open(folder, drain->steps->entries, &drain->segments);

	if (!err)
		err = epoch ? check_belongs(drain, folder, epoch) : begin_epoch(drain, folder);
	if (!err)
		tell_tables(drain);
	/*
	 * The commands that look for corruption report it as such. Here it is one of many reasons
	 * not to start.
	 */
	return err == -EBADMSG ? -EIO : err;
}

static void end_syncer(struct drain *drain)
{
	pthread_mutex_lock(&drain->guard);
	drain->is_complete = true;
	pthread_cond_broadcast(&drain->changed);
	pthread_mutex_unlock(&drain->guard);
	pthread_join(drain->syncer, NULL);
}

/* Block signals: the main thread handles them. */
static int begin_thread(pthread_t *thread, void *(*run)(void *context), struct drain *drain)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = -pthread_create(thread, NULL, run, drain);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}

int drain_begin(struct drain *drain, const char *folder)
{
	int err = open_segments(drain, folder);

	if (err)
		return err;
	err = begin_thread(&drain->syncer, run_syncer, drain);
	if (!err) {
		err = begin_thread(&drain->writer, run_writer, drain);
		drain->has_threads = !err;
		if (err)
			end_syncer(drain);
	}
	if (!err)
		return 0;
	log_error("cannot start a thread that drains %s: %s", drain->name, strerror(-err));
	return err;
}

int drain_fd(const struct drain *drain)
{
	return drain->event_fd;
}

static int reason_to_end(struct drain *drain)
{
	int failed;

	pthread_mutex_lock(&drain->guard);
	failed = drain->failed;
	pthread_mutex_unlock(&drain->guard);
	return failed;
}

int drain_ended(struct drain *drain)
{
	__u64 events;

	if (read(drain->event_fd, &events, sizeof(events)) < 0 && errno != EAGAIN)
		log_debug("the drain's event: %s", strerror(errno));
	return reason_to_end(drain);
}

/*
 * Stops the writer first, because it may wait for a sync. Then this thread writes the records that
 * are there now, and the syncer stops after syncing them.
 */
static void end_threads(struct drain *drain)
{
	__u64 deadline;
	bool is_more = true;
	ssize_t count = 1;

	pthread_mutex_lock(&drain->guard);
	drain->is_stopping = true;
	pthread_mutex_unlock(&drain->guard);
	pthread_join(drain->writer, NULL);
	deadline = clock_now_ns() + END_NS_MAX;
	while (count > 0 && is_more && clock_now_ns() < deadline && !reason_to_end(drain))
		count = drain_once(drain, &is_more);
	if (segments_no_room(count))
		log_warning(
			"records that were not drained stay in the tables: there is no room for them");
	end_syncer(drain);
}

void drain_close(struct drain *drain)
{
	if (!drain)
		return;
	if (drain->has_threads)
		end_threads(drain);
	segments_close(drain->segments);
	tables_close(drain->opened);
	if (drain->event_fd >= 0)
		close(drain->event_fd);
	free(drain->written);
	free(drain->covered);
	free(drain->synced);
	free(drain->taken);
	free(drain->entries);
	free(drain);
}
