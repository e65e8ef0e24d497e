/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/netns.h"
#include "daemon/deferred.h"
#include "daemon/rare_path.h"
#include "net/frame_reply.h"
#include "net/interfaces.h"
#include "state/peers_key.h"
#include "state/pins.h"
#include "state/tables.h"

#define INTERFACES_MAX 256
#define RANDOM_MAX 32
#define CELLS_MAX (4 * ENDPOINT_BATCH_MAX)

struct cell {
	unsigned int table;
	__u32 index;
};

/* The cells that the pending replies depend on, followed by those of the decision in progress. */
struct read_cells {
	struct cell cells[CELLS_MAX];
	size_t count;
	size_t decided;
};

struct rare_path {
	const struct stepwise_protocol *protocol;
	struct daemon_statistics *statistics;
	struct tables *tables;
	struct deferred *deferred;
	struct peers_key key;
	struct endpoint *endpoint; /* of the current batch */
	struct read_cells read;
	bool reads_whole_tables;
	unsigned long netns;
	int interfaces_fd;
	struct stat interfaces; /* status of the folder when `indices` were read from it */
	/* Interfaces of this network namespace on which the protocol is loaded. */
	unsigned int indices[INTERFACES_MAX];
	size_t index_count;
	__u64 random[RANDOM_MAX]; /* drawn in advance */
	size_t random_count;
};

/*
 * Each interface is a directory. Moving one in or out changes the link count. If both happen, the
 * count may be the same, but the modification time is new.
 */
static bool indices_changed(struct rare_path *path)
{
	struct stat now;
	bool changed;

	if (fstat(path->interfaces_fd, &now))
		return true;
	changed = now.st_nlink != path->interfaces.st_nlink ||
		  now.st_mtim.tv_sec != path->interfaces.st_mtim.tv_sec ||
		  now.st_mtim.tv_nsec != path->interfaces.st_mtim.tv_nsec;
	path->interfaces = now;
	return changed;
}

static void read_indices(struct rare_path *path)
{
	if (indices_changed(path))
		path->index_count = interfaces_read_indices(path->interfaces_fd, path->netns,
							    path->indices, INTERFACES_MAX);
}

/* Sends all pending replies. They are completed when this returns. */
static void flush(struct rare_path *path)
{
	struct read_cells *read = &path->read;

	path->endpoint->operations->flush(path->endpoint, path->statistics);
	memmove(read->cells, read->cells + read->decided,
		(read->count - read->decided) * sizeof(read->cells[0]));
	read->count -= read->decided;
	read->decided = 0;
}

/*
 * A reply changes the cells that it depends on only when it is completed, on its way out. So send
 * the replies that depend on a cell before that cell is read again. Otherwise the next decision
 * would choose the same, and its own completion would refuse it.
 */
static void before_read(void *context, unsigned int table, __u32 index)
{
	struct rare_path *path = context;
	struct read_cells *read = &path->read;
	bool awaited = read->count == CELLS_MAX;

	for (size_t i = 0; i < read->decided && !awaited; i++)
		awaited = read->cells[i].index == index && read->cells[i].table == table;
	if (awaited)
		flush(path);
	if (read->count < CELLS_MAX)
		read->cells[read->count++] = (struct cell){ table, index };
}

static bool reads_whole_tables(const struct stepwise_protocol *protocol)
{
	for (__u32 i = 0; i < protocol->table_count; i++)
		if (protocol->tables[i].user_reads == STEPWISE_USER_READS_TABLE)
			return true;
	return false;
}

struct rare_path *rare_path_open(const struct stepwise_protocol *protocol,
				 struct daemon_statistics *statistics)
{
	struct rare_path *path;
	char directory[PATH_MAX];

	if (protocol->wire_size + protocol->tail_max >= ENDPOINT_PAYLOAD_BYTES_MAX) {
		log_error(
			"cannot serve %s: its messages have up to %u bytes, but a datagram holds less than %u",
			protocol->name, protocol->wire_size + protocol->tail_max,
			ENDPOINT_PAYLOAD_BYTES_MAX);
		return NULL;
	}
	path = calloc(1, sizeof(*path));
	if (!path)
		return NULL;
	path->protocol = protocol;
	path->statistics = statistics;
	path->netns = netns_here();
	path->interfaces_fd = -1;
	path->reads_whole_tables = reads_whole_tables(protocol);
	if (!path->netns || pins_path(directory, "interfaces") || pins_make_directory(directory))
		goto failed;
	path->interfaces_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (path->interfaces_fd < 0) {
		log_error("cannot read %s: %s; run serve as root", directory, strerror(errno));
		goto failed;
	}
	path->deferred = deferred_open(statistics);
	if (!path->deferred)
		goto failed;
	path->tables = tables_open(protocol, before_read, path);
	if (!path->tables || peers_key_take(protocol, &path->key))
		goto failed;
	read_indices(path);
	if (!path->index_count)
		log_warning(
			"%s is not loaded on any interface of this network namespace; until it is, the daemon has nothing to answer",
			protocol->name);
	return path;
failed:
	rare_path_close(path);
	return NULL;
}

void rare_path_close(struct rare_path *path)
{
	if (!path)
		return;
	tables_close(path->tables);
	explicit_bzero(&path->key, sizeof(path->key));
	deferred_close(path->deferred);
	if (path->interfaces_fd >= 0)
		close(path->interfaces_fd);
	free(path);
}

bool rare_path_may_run(const struct rare_path *path)
{
	return tables_may_read(path->tables);
}

/*
 * True if the interface is still loaded. After an unload, the reply would leave without TC's
 * completion, and the client would be told of a change that never happened.
 */
static bool is_loaded_on(const struct rare_path *path, unsigned int ifindex)
{
	for (size_t i = 0; i < path->index_count; i++)
		if (path->indices[i] == ifindex)
			return true;
	return false;
}

/*
 * Draws random numbers, each of which is used once. Secrets may be made from them, so a short read
 * does not count. getrandom() never cuts reads of up to 256 bytes short.
 */
static bool next_random(struct rare_path *path, __u64 *random)
{
	if (!path->random_count) {
		if (getrandom(path->random, sizeof(path->random), 0) != sizeof(path->random))
			return false;
		path->random_count = RANDOM_MAX;
	}
	*random = path->random[--path->random_count];
	path->random[path->random_count] = 0;
	return true;
}

/* Fills in the environment of a step for this message: random bytes, and the sender. */
static bool surround(struct rare_path *path, const struct endpoint_datagram *datagram,
		     struct stepwise_environment *environment)
{
	const struct in6_addr source = frame_source(datagram->frame);
	__u64 nonce;

	if (!next_random(path, &environment->random) || !next_random(path, &nonce))
		return false;
	peers_tell(path->protocol, &path->key, &source, (__u32)nonce, datagram->payload,
		   environment);
	return true;
}

static bool decide(struct rare_path *path, size_t index, struct stepwise_environment *environment)
{
	struct endpoint_datagram *datagram = &path->endpoint->datagrams[index];
	struct daemon_statistics *statistics = path->statistics;
	enum stepwise_verdict verdict = STEPWISE_DROP;

	if (!is_loaded_on(path, datagram->ifindex)) {
		statistics->unexpected_interface++;
		return false;
	}
	if (datagram->size < path->protocol->wire_size ||
	    datagram->size - path->protocol->wire_size > path->protocol->tail_max) {
		statistics->malformed++;
		return false;
	}
	if (surround(path, datagram, environment))
		verdict = path->protocol->on_forwarded(tables_interface(path->tables), environment,
						       datagram->payload, &datagram->size);
	if (verdict == STEPWISE_AGAIN)
		deferred_keep(path->deferred, path->endpoint, index);
	else if (verdict != STEPWISE_REPLY)
		statistics->dropped++;
	return verdict == STEPWISE_REPLY;
}

/*
 * Counts overflows after each batch. This is soon enough: if datagrams found no room, others wait,
 * so another batch follows.
 */
static void count_overflowed(struct rare_path *path, struct endpoint *endpoint)
{
	__u64 overflowed = endpoint->operations->overflowed(endpoint);

	path->statistics->overflowed += overflowed - endpoint->overflowed;
	endpoint->overflowed = overflowed;
}

static void serve_batch(struct rare_path *path, struct endpoint *endpoint, size_t count)
{
	struct stepwise_environment environment = { .now_ns = clock_now_ns() };

	environment.age_ns = tables_age_ns(path->tables, environment.now_ns);
	read_indices(path);
	path->endpoint = endpoint;
	for (size_t i = 0; i < count; i++) {
		if (decide(path, i, &environment)) {
			endpoint->operations->reply(endpoint, i);
			path->read.decided = path->read.count;
		} else {
			path->read.count = path->read.decided;
		}
		if (path->reads_whole_tables)
			flush(path);
	}
	flush(path);
}

void rare_path_serve(struct rare_path *path, struct endpoint *endpoint)
{
	size_t count = endpoint->operations->receive(endpoint, path->statistics);

	if (!count)
		return;
	path->statistics->received += count;
	serve_batch(path, endpoint, count);
	count_overflowed(path, endpoint);
}

struct deferred *rare_path_deferred(const struct rare_path *path)
{
	return path->deferred;
}

void rare_path_serve_deferred(struct rare_path *path)
{
	struct endpoint *endpoint;
	size_t count;

	deferred_begin(path->deferred);
	while ((endpoint = deferred_take(path->deferred, &count)))
		serve_batch(path, endpoint, count);
}
