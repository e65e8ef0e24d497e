/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Polls the receive queues of an interface in turns, on one CPU: poll_queues CPU FD:PACKETS...
 *
 * Each FD is a socket that knows a queue's NAPI. A turn processes up to PACKETS of the queue. The
 * program starts stopped, and SIGCONT lets it go on. harness/bench/poller.py starts it, because its
 * own poller polls one queue only.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/socket.h>

#ifndef SO_PREFER_BUSY_POLL
#define SO_PREFER_BUSY_POLL 69
#define SO_BUSY_POLL_BUDGET 70
#endif
#define QUEUES_MAX 16

static void set(int fd, int option, int value, const char *name)
{
	if (setsockopt(fd, SOL_SOCKET, option, &value, sizeof(value))) {
		fprintf(stderr, "poll_queues: setting %s of socket %d to %d: %s\n", name, fd, value,
			strerror(errno));
		exit(1);
	}
}

static void take_cpu(int cpu)
{
	const struct sched_param first = { .sched_priority = 1 };
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus) ||
	    sched_setscheduler(0, SCHED_FIFO, &first)) {
		fprintf(stderr, "poll_queues: taking CPU %d: %s\n", cpu, strerror(errno));
		exit(1);
	}
}

int main(int argc, char **argv)
{
	int fds[QUEUES_MAX], count = 0;
	char mark[16];

	for (; count < QUEUES_MAX && argc > count + 2; count++) {
		int packets;

		if (sscanf(argv[count + 2], "%d:%d", &fds[count], &packets) != 2)
			break;
		set(fds[count], SO_PREFER_BUSY_POLL, 1, "SO_PREFER_BUSY_POLL");
		set(fds[count], SO_BUSY_POLL_BUDGET, packets, "SO_BUSY_POLL_BUDGET");
		set(fds[count], SO_BUSY_POLL, 1, "SO_BUSY_POLL");
	}
	if (!count || argc != count + 2) {
		fprintf(stderr, "usage: poll_queues CPU FD:PACKETS...\n");
		return 2;
	}
	take_cpu(atoi(argv[1]));
	puts("ready");
	fflush(stdout);
	raise(SIGSTOP);
	for (;;)
		for (int i = 0; i < count; i++)
			if (recv(fds[i], mark, sizeof(mark), MSG_DONTWAIT) < 0 && errno != EAGAIN)
				return 1;
}
