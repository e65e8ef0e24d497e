/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The same generated steps as an ordinary UDP server over ordinary memory. The fast path is
 * measured against it. Each core has one thread and one socket (SO_REUSEPORT), and datagrams go in
 * batches. The system selects the source address of an answer.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/log.h"
#include "baseline/userspace_steps.h"
#include "stepwise.h"

#define EXIT_USAGE 2
#define BATCH_MAX 64
#define PAYLOAD_BYTES_MAX 1500
#define THREADS_MAX 256

static const struct stepwise_protocol *const protocol = &stepwise_protocol;

struct worker {
	pthread_t thread;
	int cpu;
	int fd;
};

struct batch {
	struct mmsghdr headers[BATCH_MAX];
	struct iovec vectors[BATCH_MAX];
	struct sockaddr_in6 peers[BATCH_MAX];
	unsigned char payloads[BATCH_MAX][PAYLOAD_BYTES_MAX];
};

/* An IPv6 socket, which receives IPv4 as well. */
static int open_socket(__u16 port)
{
	struct sockaddr_in6 address = { .sin6_family = AF_INET6,
					.sin6_port = htons(port),
					.sin6_addr = IN6ADDR_ANY_INIT };
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	const int on = 1, off = 0, buffer_bytes = 4 << 20;
	int err;

	if (fd >= 0 &&
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &buffer_bytes, sizeof(buffer_bytes)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer_bytes, sizeof(buffer_bytes));
	if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) == 0 &&
	    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) == 0 &&
	    bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	err = -errno;
	log_error("cannot open a socket on UDP port %u: %s", port, strerror(-err));
	if (fd >= 0)
		close(fd);
	return err;
}

static int receive(int fd, struct batch *batch)
{
	for (int i = 0; i < BATCH_MAX; i++) {
		batch->vectors[i] = (struct iovec){ batch->payloads[i], PAYLOAD_BYTES_MAX };
		batch->headers[i].msg_hdr = (struct msghdr){
			.msg_name = &batch->peers[i],
			.msg_namelen = sizeof(batch->peers[i]),
			.msg_iov = &batch->vectors[i],
			.msg_iovlen = 1,
		};
	}
	return recvmmsg(fd, batch->headers, BATCH_MAX, MSG_WAITFORONE, NULL);
}

static void send_all(int fd, struct mmsghdr *headers, int count)
{
	for (int next = 0; next < count;) {
		int sent = sendmmsg(fd, headers + next, count - next, 0);

		/* A datagram that cannot be sent is lost, as any datagram may be. */
		if (sent > 0)
			next += sent;
		else if (errno != EINTR)
			next++;
	}
}

static void serve_batch(int fd, struct batch *batch)
{
	/* No client relies on earlier tables. */
	struct stepwise_environment environment = { .age_ns = ~0ull };
	int count, chosen = 0;

	count = receive(fd, batch);
	environment.now_ns = clock_now_ns();
	environment.cpu = sched_getcpu();
	for (int i = 0; i < count; i++) {
		batch->vectors[i].iov_len = batch->headers[i].msg_len;
		if (!userspace_steps_decide(&batch->peers[i].sin6_addr, batch->payloads[i],
					    &batch->vectors[i].iov_len, &environment))
			continue;
		batch->headers[chosen++] = batch->headers[i];
	}
	send_all(fd, batch->headers, chosen);
	userspace_steps_drain();
}

static void *work(void *context)
{
	const struct worker *worker = context;
	struct batch *batch = calloc(1, sizeof(*batch));
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(worker->cpu, &cpus);
	if (pthread_setaffinity_np(pthread_self(), sizeof(cpus), &cpus))
		log_warning("cannot pin a thread to CPU %d", worker->cpu);
	while (batch)
		serve_batch(worker->fd, batch);
	log_error("cannot allocate the batch of a thread: out of memory");
	return NULL;
}

static bool parse_number(const char *text, long least, long most, long *value)
{
	char *end;

	*value = strtol(text, &end, 10);
	return *text && !*end && *value >= least && *value <= most;
}

static bool parse_arguments(int count, char **values, long *threads, long *port)
{
	static const struct option options[] = {
		{ "threads", required_argument, NULL, 't' },
		{ "port", required_argument, NULL, 'p' },
		{},
	};
	bool valid = true;
	int code;

	while (valid && (code = getopt_long(count, values, "t:p:", options, NULL)) != -1) {
		valid = code == 't' ? parse_number(optarg, 1, THREADS_MAX, threads) :
			code == 'p' ? parse_number(optarg, 1, 65535, port) :
				      false;
	}
	if (valid && optind == count)
		return true;
	fprintf(stderr, "usage: %s-udp [--threads 1..%d] [--port 1..65535]\n", protocol->name,
		THREADS_MAX);
	return false;
}

/* Returns the CPU of the n-th thread, among those that this process may use. */
static int nth_cpu(const cpu_set_t *allowed, long n)
{
	n %= CPU_COUNT(allowed);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, allowed) && n-- == 0)
			return cpu;
	return 0;
}

int main(int count, char **values)
{
	static struct worker workers[THREADS_MAX];
	long threads, port = protocol->port;
	cpu_set_t allowed;
	char name[64];
	int err;

	snprintf(name, sizeof(name), "%s-udp", protocol->name);
	log_open(name, LOG_LEVEL_INFO);
	CPU_ZERO(&allowed);
	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		CPU_SET(0, &allowed);
	threads = CPU_COUNT(&allowed);
	if (!parse_arguments(count, values, &threads, &port))
		return EXIT_USAGE;
	if (!userspace_steps_fit(PAYLOAD_BYTES_MAX)) {
		log_error(
			"cannot serve %s from userspace: its hooks were not generated as plain functions, or its messages have up to %u bytes and a datagram holds less than %d",
			protocol->name, protocol->wire_size + protocol->tail_max,
			PAYLOAD_BYTES_MAX);
		return 1;
	}
	err = userspace_steps_open();
	if (err) {
		log_error("cannot allocate the tables of %s: %s", protocol->name, strerror(-err));
		return 1;
	}
	for (long i = 0; i < threads; i++) {
		workers[i].cpu = nth_cpu(&allowed, i);
		workers[i].fd = open_socket(port);
		if (workers[i].fd < 0)
			return 1;
	}
	for (long i = 0; i < threads; i++) {
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i])) {
			log_error("cannot start thread %ld of %ld", i + 1, threads);
			return 1;
		}
	}
	printf("READY %s port %ld pid %d threads %ld\n", protocol->name, port, (int)getpid(),
	       threads);
	fflush(stdout);
	/* Runs until a signal ends the process. */
	for (long i = 0; i < threads; i++)
		pthread_join(workers[i].thread, NULL);
	return 0;
}
