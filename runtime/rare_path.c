/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/random.h>

#include "interfaces.h"
#include "log.h"
#include "netns.h"
#include "pins.h"
#include "rare_path.h"
#include "tables.h"

#define INTERFACES_MAX 256

struct rare_path {
	const struct stepwise_protocol *protocol;
	struct daemon_statistics *statistics;
	struct tables *tables;
	unsigned long netns;
	int interfaces_fd;
	unsigned int indices[INTERFACES_MAX];  /* of the interfaces here that the protocol is loaded on */
	size_t index_count;
};

static __u64 now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ull + time.tv_nsec;
}

static void read_indices(struct rare_path *path)
{
	path->index_count = interfaces_read_indices(path->interfaces_fd, path->netns, path->indices, INTERFACES_MAX);
}

struct rare_path *rare_path_open(const struct stepwise_protocol *protocol, struct daemon_statistics *statistics)
{
	struct rare_path *path;
	char directory[PATH_MAX];

	if (protocol->wire_size >= ENDPOINT_PAYLOAD_BYTES_MAX) {
		log_error("cannot serve %s: its messages have %u bytes, and a datagram takes less than %u", protocol->name,
			  protocol->wire_size, ENDPOINT_PAYLOAD_BYTES_MAX);
		return NULL;
	}
	path = calloc(1, sizeof(*path));
	if (!path)
		return NULL;
	path->protocol = protocol;
	path->statistics = statistics;
	path->netns = netns_here();
	path->interfaces_fd = -1;
	if (!path->netns || pins_path(directory, "interfaces") || pins_make_directory(directory))
		goto failed;
	path->interfaces_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (path->interfaces_fd < 0) {
		log_error("cannot read %s: %s; run serve as root", directory, strerror(errno));
		goto failed;
	}
	path->tables = tables_open(protocol, NULL, NULL);
	if (!path->tables)
		goto failed;
	read_indices(path);
	if (!path->index_count)
		log_warning("%s is not loaded on any interface of this network namespace: there is nothing to answer until it is",
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
	if (path->interfaces_fd >= 0)
		close(path->interfaces_fd);
	free(path);
}

bool rare_path_may_run(const struct rare_path *path)
{
	return tables_may_read(path->tables);
}

/*
 * What comes by another interface has not been through XDP, and the reply would
 * leave without TC's completion: a client would be told what never came to be.
 */
static bool arrived_through_xdp(const struct rare_path *path, unsigned int ifindex)
{
	for (size_t i = 0; i < path->index_count; i++)
		if (path->indices[i] == ifindex)
			return true;
	return false;
}

static bool decide(struct rare_path *path, struct endpoint_datagram *datagram, unsigned int size,
		   const struct stepwise_environment *environment)
{
	struct daemon_statistics *statistics = path->statistics;

	if (!arrived_through_xdp(path, datagram->ifindex)) {
		statistics->unexpected_interface++;
		return false;
	}
	if (size != path->protocol->wire_size) {
		statistics->malformed++;
		return false;
	}
	if (path->protocol->on_forwarded(tables_interface(path->tables), environment, datagram->payload) == STEPWISE_REPLY)
		return true;
	statistics->dropped++;
	return false;
}

/* Secrets may be made of it, so it is whole or there is no answer; up to 256 bytes a call are. */
static bool fill_random(__u64 *random, size_t count)
{
	for (size_t done = 0; done < count; done += 256 / sizeof(*random)) {
		size_t part = count - done < 256 / sizeof(*random) ? count - done : 256 / sizeof(*random);

		if (getrandom(random + done, part * sizeof(*random), 0) != (ssize_t)(part * sizeof(*random)))
			return false;
	}
	return true;
}

void rare_path_serve(struct rare_path *path, struct endpoint *endpoint)
{
	struct stepwise_environment environment = { .now_ns = now_ns() };
	__u64 random[ENDPOINT_BATCH_MAX];
	size_t count;

	count = endpoint_receive(endpoint, path->statistics);
	if (!count)
		return;
	read_indices(path);
	if (!fill_random(random, count)) {
		path->statistics->dropped += count;
		return;
	}
	/*
	 * A reply is completed on its way out, before endpoint_reply() returns, so the
	 * next decision sees what it changed. Decisions made at once for a whole batch
	 * would choose the same cell, and only the first of them would be completed.
	 */
	for (size_t i = 0; i < count; i++) {
		environment.random = random[i];
		if (decide(path, &endpoint->datagrams[i], endpoint->headers[i].msg_len, &environment))
			endpoint_reply(endpoint, i, path->protocol->wire_size, path->statistics);
	}
}
