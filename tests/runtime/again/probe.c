/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * probe PORT COUNT TIMES: receives COUNT datagrams by a UDP endpoint and keeps them; then, TIMES times, has them served
 * again and keeps them once more; in the end answers what is left with their payload and a mark. Prints a line each
 * time: how many came out, how many were dropped.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <sys/socket.h>

#include "again.h"
#include "log.h"
#include "udp_endpoint.h"

static struct daemon_statistics statistics;

static bool readable(int fd, int timeout_ms)
{
	struct pollfd waited = { .fd = fd, .events = POLLIN };

	return poll(&waited, 1, timeout_ms) == 1;
}

static void *ask(void *again)
{
	again_serve(again);
	return NULL;
}

/* As the daemon's other threads do. */
static bool ask_elsewhere(struct again *again)
{
	pthread_t thread;

	return pthread_create(&thread, NULL, ask, again) == 0 && pthread_join(thread, NULL) == 0 && readable(again_fd(again), 0);
}

static size_t take_all(struct again *again, bool answer)
{
	struct endpoint *endpoint;
	size_t count, total = 0;

	again_begin(again);
	while ((endpoint = again_take(again, &count))) {
		for (size_t i = 0; i < count; i++) {
			if (!answer) {
				again_keep(again, endpoint, i);
				continue;
			}
			endpoint->datagrams[i].payload[endpoint->datagrams[i].size++] = '!';
			endpoint->operations->reply(endpoint, i);
		}
		endpoint->operations->flush(endpoint, &statistics);
		total += count;
	}
	return total;
}

int main(int argument_count, char **arguments)
{
	struct again *again = again_open(&statistics);
	unsigned long wanted, received = 0;
	struct endpoint *endpoint;
	bool unsupported;

	log_open("probe", LOG_LEVEL_INFO);
	if (argument_count != 4 || !again)
		return 2;
	endpoint = udp_endpoint_open(AF_INET, atoi(arguments[1]), 64 << 20, &unsupported);
	if (!endpoint)
		return 1;
	wanted = strtoul(arguments[2], NULL, 10);
	printf("READY\n");
	fflush(stdout);
	while (received < wanted && readable(endpoint->fd, 5000)) {
		size_t count = endpoint->operations->receive(endpoint, &statistics);

		for (size_t i = 0; i < count; i++)
			again_keep(again, endpoint, i);
		received += count;
	}
	if (readable(again_fd(again), 0))
		return 3; /* nobody has asked */
	for (int times = atoi(arguments[3]); times >= 0; times--) {
		if (!ask_elsewhere(again))
			return 4;
		printf("%zu %llu\n", take_all(again, times == 0), (unsigned long long)statistics.kept_dropped);
		fflush(stdout);
		if (readable(again_fd(again), 0))
			return 5; /* asked once, served once */
	}
	again_close(again);
	endpoint->operations->close(endpoint);
	return 0;
}
