/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The same generated steps as an ordinary UDP server over ordinary memory: what
 * the fast path is measured against. One thread and one socket a core
 * (SO_REUSEPORT), datagrams by the batch. It does not sweep, and answers from the
 * address that the system picks. What a protocol drains goes nowhere: it is taken,
 * and counts as written and synced at once.
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
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "bpf/stepwise_spin.h"
#include "clock.h"
#include "log.h"
#include "stepwise.h"

#define EXIT_USAGE 2
#define BATCH_MAX 64
#define PAYLOAD_BYTES_MAX 1500
#define TABLES_MAX 64
#define THREADS_MAX 256

static const struct stepwise_protocol *const protocol = &stepwise_protocol;
static void *memory[TABLES_MAX];
static bool read_cell(const struct stepwise_tables *opened, unsigned int table, __u32 index, void *element);
static void *cell(const struct stepwise_tables *opened, unsigned int table, __u32 index);
static const struct stepwise_tables tables = { .memory = memory, .read_cell = read_cell, .cell = cell };

/* What the handler steps itself, it takes for its own: the daemon is one thread. */
static pthread_mutex_t handler_guard = PTHREAD_MUTEX_INITIALIZER;
static bool handler_steps;

/* Of a protocol with a drain: room for a batch of one lane. Who is at it drains for all. */
static pthread_mutex_t drain_guard = PTHREAD_MUTEX_INITIALIZER;
static unsigned char *drained;

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

static int allocate_tables(void)
{
	if (protocol->table_count > TABLES_MAX)
		return -E2BIG;
	for (__u32 i = 0; i < protocol->table_count; i++) {
		size_t size = (size_t)protocol->tables[i].capacity * protocol->tables[i].element_size;

		handler_steps |= protocol->tables[i].user_reads == STEPWISE_USER_STEPS;
		memory[i] = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (memory[i] == MAP_FAILED)
			return -errno;
	}
	return 0;
}

static bool read_cell(const struct stepwise_tables *opened, unsigned int table, __u32 index, void *element)
{
	const struct stepwise_table *read = &protocol->tables[table];
	unsigned char *from = (unsigned char *)opened->memory[table] + (size_t)index * read->element_size;
	unsigned char *guard = from + read->guard_offset;

	if (index >= read->capacity)
		return false;
	if (read->mmapable) {
		*(__u64 *)element = __atomic_load_n((const __u64 *)from, __ATOMIC_RELAXED);
		return true;
	}
	stepwise_lock_word((__u32 *)guard);
	memcpy(element, from, read->element_size);
	stepwise_unlock_word((__u32 *)guard);
	memset((unsigned char *)element + read->guard_offset, 0, sizeof(__u32));
	return true;
}

static void *cell(const struct stepwise_tables *opened, unsigned int table, __u32 index)
{
	const struct stepwise_table *stepped = &protocol->tables[table];

	return index < stepped->capacity ? (unsigned char *)opened->memory[table] + (size_t)index * stepped->element_size : NULL;
}

/* IPv6, which takes IPv4 as well. */
static int open_socket(__u16 port)
{
	struct sockaddr_in6 address = { .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_ANY_INIT };
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	const int on = 1, off = 0, buffer_bytes = 4 << 20;
	int err;

	if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &buffer_bytes, sizeof(buffer_bytes)))
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

static int begin_drain(void)
{
	const struct stepwise_drain *drain = protocol->drain;

	if (!drain)
		return 0;
	drained = malloc((size_t)drain->batch * drain->entries->size);
	for (__u32 section = 0; section < drain->begins_count; section++)
		for (__u32 lane = 0; lane < drain->entries->lanes; lane++)
			drain->begins(&tables, section, &(struct stepwise_place){ .epoch = 1, .lane = lane });
	return drained ? 0 : -ENOMEM;
}

/* After each batch of datagrams, so that a lane is no fuller than with a daemon that keeps up. */
static void drain_to_nowhere(void)
{
	const struct stepwise_drain *drain = protocol->drain;

	if (!drain || pthread_mutex_trylock(&drain_guard))
		return;
	for (__u32 lane = 0; lane < drain->entries->lanes; lane++) {
		const __u32 count = drain->take(&tables, lane, drained, drain->entries->size, drain->batch);
		struct stepwise_place last;

		if (!count)
			continue;
		drain->entries->place(drained + (size_t)(count - 1) * drain->entries->size, &last);
		drain->written(&tables, &last);
		drain->synced(&tables, &last);
	}
	pthread_mutex_unlock(&drain_guard);
}

static enum stepwise_verdict handle(const struct stepwise_environment *environment, unsigned char *payload, size_t *size)
{
	enum stepwise_verdict verdict;

	if (!handler_steps)
		return protocol->on_forwarded(&tables, environment, payload, size);
	pthread_mutex_lock(&handler_guard);
	verdict = protocol->on_forwarded(&tables, environment, payload, size);
	pthread_mutex_unlock(&handler_guard);
	return verdict;
}

static bool decide(unsigned char *payload, size_t *size, struct stepwise_environment *environment)
{
	enum stepwise_verdict verdict;

	if (*size < protocol->wire_size || *size - protocol->wire_size > protocol->tail_max)
		return false;
	verdict = protocol->run_xdp(&tables, environment, payload, size);
	if (verdict != STEPWISE_FORWARD)
		return verdict == STEPWISE_REPLY;
	if (!protocol->on_forwarded || getrandom(&environment->random, sizeof(environment->random), 0) < 0)
		return false;
	verdict = handle(environment, payload, size);
	if (verdict == STEPWISE_REPLY && protocol->run_tc)
		verdict = protocol->run_tc(&tables, environment, payload, size);
	return verdict == STEPWISE_REPLY;
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

		/* One that cannot go is lost, as any datagram may be. */
		if (sent > 0)
			next += sent;
		else if (errno != EINTR)
			next++;
	}
}

static void serve_batch(int fd, struct batch *batch)
{
	struct stepwise_environment environment = {};
	int count, chosen = 0;

	count = receive(fd, batch);
	environment.now_ns = clock_now_ns();
	environment.cpu = sched_getcpu();
	for (int i = 0; i < count; i++) {
		batch->vectors[i].iov_len = batch->headers[i].msg_len;
		if (!decide(batch->payloads[i], &batch->vectors[i].iov_len, &environment))
			continue;
		batch->headers[chosen++] = batch->headers[i];
	}
	send_all(fd, batch->headers, chosen);
	drain_to_nowhere();
}

static void *work(void *context)
{
	const struct worker *worker = context;
	struct batch *batch = calloc(1, sizeof(*batch));
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(worker->cpu, &cpus);
	if (pthread_setaffinity_np(pthread_self(), sizeof(cpus), &cpus))
		log_warning("cannot keep a thread on CPU %d", worker->cpu);
	while (batch)
		serve_batch(worker->fd, batch);
	log_error("a thread has no memory for its batch");
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
	fprintf(stderr, "usage: %s-udp [--threads 1..%d] [--port 1..65535]\n", protocol->name, THREADS_MAX);
	return false;
}

/* The CPU of the n-th thread, of those that this process may use. */
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
	if (!protocol->run_xdp || protocol->wire_size + protocol->tail_max >= PAYLOAD_BYTES_MAX) {
		log_error("cannot serve %s from userspace: its hooks were not generated as plain functions, or its messages have up to %u "
			  "bytes and a datagram takes less than %d",
			  protocol->name, protocol->wire_size + protocol->tail_max, PAYLOAD_BYTES_MAX);
		return 1;
	}
	err = allocate_tables() ?: begin_drain();
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
	printf("READY %s port %ld pid %d threads %ld\n", protocol->name, port, (int)getpid(), threads);
	fflush(stdout);
	/* Until a signal ends the process. */
	for (long i = 0; i < threads; i++)
		pthread_join(workers[i].thread, NULL);
	return 0;
}
