// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * load: many clients of a protocol over UDP, as fast as the answers come; see load.h.
 *
 * Every client has a socket of its own. A thread waits on the sockets of its
 * clients with epoll and answers each datagram with the client's next request.
 *
 * With --faults, a packet may be lost, sent twice, or sent late, after others. An
 * answer can only be lost.
 *
 * Each client has two generators, one for its requests and one for its faults.
 * Both depend on the seed alone, and not on which client moves first.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "load.h"
#include "workload.h"

#ifndef WORKLOAD_SIZE_MAX
#define WORKLOAD_SIZE_MAX WORKLOAD_SIZE

static inline size_t workload_size(const unsigned char *payload)
{
	(void)payload;
	return WORKLOAD_SIZE;
}

static inline bool workload_is_whole(const unsigned char *payload, size_t size)
{
	(void)payload;
	return size == WORKLOAD_SIZE;
}
#endif

#define EVENTS_MAX 64
#define SCAN_PERIOD_NS 1000000ull /* how often clients without an answer are checked */
#define LATE_MAX 64		  /* packets that a thread holds back at a time */
#define LATE_NS_MAX 50000000ull
#define DRAIN_NS 15000000000ull /* time for clients to give back what they hold */

struct load_client {
	int socket;
	__u64 random_state; /* generator of what the client draws */
	__u64 fault_state;  /* generator of its packets' faults */
	__u64 wake_ns;	    /* when the client moves even without an answer */
	bool finished;
	struct workload_client workload;
};

/* A request that is held back, to be sent late. */
struct late_packet {
	int socket;
	__u64 due_ns;
	unsigned char payload[WORKLOAD_SIZE_MAX];
};

enum fault {
	FAULT_NONE,
	FAULT_LOSE,
	FAULT_REPEAT,
	FAULT_DELAY,
};

struct load_thread {
	pthread_t thread;
	int epoll;
	struct load_client *moving; /* the client that draws now */
	struct load_client *clients;
	unsigned int client_count;
	struct load_counts counts;
	struct load_record *records;
	size_t record_count, record_capacity;
	struct late_packet late[LATE_MAX];
	unsigned int late_count;
};

static struct workload workload;
static atomic_ullong identities = 1;
static atomic_uint interruptions;
static unsigned int fault_percent;
static atomic_ullong stop_ns; /* clients finish from then on */

static __u64 clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static _Noreturn void fail(const char *doing)
{
	fprintf(stderr, "load: %s: %s\n", doing, strerror(errno));
	exit(1);
}

_Noreturn void load_refuse(const char *reason)
{
	fprintf(stderr, "load: %s\n", reason);
	exit(1);
}

void load_record(struct load_thread *thread, struct load_record record)
{
	if (thread->record_count == thread->record_capacity) {
		thread->record_capacity = thread->record_capacity ? 2 * thread->record_capacity :
								    1 << 16;
		thread->records =
			realloc(thread->records, thread->record_capacity * sizeof(record));
		if (!thread->records)
			fail("making room for the history");
	}
	thread->records[thread->record_count++] = record;
}

struct load_counts *load_counts(struct load_thread *thread)
{
	return &thread->counts;
}

__u64 load_random(struct load_thread *thread, __u64 limit)
{
	return load_draw(&thread->moving->random_state, limit);
}

__u64 load_identity(void)
{
	return atomic_fetch_add_explicit(&identities, 1, memory_order_relaxed);
}

static enum fault choose_fault(struct load_client *client)
{
	if (!fault_percent || load_draw(&client->fault_state, 100) >= fault_percent)
		return FAULT_NONE;
	return FAULT_LOSE + load_draw(&client->fault_state, 3);
}

/* A datagram that cannot be sent counts as lost: the client will ask again. */
static void send_datagram(struct load_thread *thread, int socket, const unsigned char *payload)
{
	if (send(socket, payload, workload_size(payload), 0) >= 0)
		return;
	if (errno == ECONNREFUSED) /* an earlier datagram was */
		thread->counts.unserved++;
	else if (errno != EAGAIN && errno != ENOBUFS)
		fail("sending a request");
}

static void send_request(struct load_thread *thread, struct load_client *client,
			 const unsigned char *payload, __u64 now_ns)
{
	enum fault fault = choose_fault(client);

	thread->counts.faults += fault != FAULT_NONE;
	if (fault == FAULT_DELAY && thread->late_count < LATE_MAX) {
		struct late_packet *late = &thread->late[thread->late_count++];

		late->socket = client->socket;
		late->due_ns = now_ns + load_draw(&client->fault_state, LATE_NS_MAX);
		memcpy(late->payload, payload, workload_size(payload));
		return;
	}
	if (fault != FAULT_LOSE)
		send_datagram(thread, client->socket, payload);
	if (fault == FAULT_REPEAT)
		send_datagram(thread, client->socket, payload);
}

static void send_late(struct load_thread *thread, __u64 now_ns)
{
	for (unsigned int i = 0; i < thread->late_count;) {
		if (thread->late[i].due_ns > now_ns) {
			i++;
			continue;
		}
		send_datagram(thread, thread->late[i].socket, thread->late[i].payload);
		thread->late[i] = thread->late[--thread->late_count];
	}
}

/* Lets the client move until it waits. */
static void advance(struct load_thread *thread, struct load_client *client, __u64 now_ns)
{
	unsigned char payload[WORKLOAD_SIZE_MAX];
	enum load_action action;

	client->wake_ns = now_ns + SCAN_PERIOD_NS;
	thread->moving = client;
	action = workload_next(&workload, thread, &client->workload, now_ns, now_ns >= stop_ns,
			       payload, &client->wake_ns);
	if (action == LOAD_FINISH)
		client->finished = true;
	if (action == LOAD_AGAIN)
		thread->counts.retries++;
	if (action == LOAD_SEND || action == LOAD_AGAIN)
		send_request(thread, client, payload, now_ns);
}

/*
 * Receives one datagram a call. A server on a veth has answered by the time that
 * send() returns, so a client that went on at once would keep the others waiting.
 */
static void receive(struct load_thread *thread, struct load_client *client)
{
	unsigned char payload[2048];
	ssize_t size = recv(client->socket, payload, sizeof(payload), 0);

	if (size < 0 && errno == ECONNREFUSED)
		thread->counts.unserved++;
	else if (size < 0 && errno != EAGAIN)
		fail("receiving an answer");
	if (client->finished || size < WORKLOAD_SIZE || !workload_is_whole(payload, size))
		return;
	if (choose_fault(client) == FAULT_LOSE) {
		thread->counts.faults++;
		return;
	}
	thread->moving = client;
	if (workload_answer(&workload, thread, &client->workload, clock_ns(), payload))
		advance(thread, client, clock_ns());
}

static bool scan(struct load_thread *thread)
{
	bool busy = false;

	send_late(thread, clock_ns());
	for (unsigned int i = 0; i < thread->client_count; i++) {
		struct load_client *client = &thread->clients[i];
		__u64 now_ns = clock_ns();

		if (!client->finished && now_ns >= client->wake_ns)
			advance(thread, client, now_ns);
		busy |= !client->finished;
	}
	return busy;
}

static void *run_thread(void *argument)
{
	struct load_thread *thread = argument;
	struct epoll_event events[EVENTS_MAX];
	__u64 scanned_ns = 0;

	for (;;) {
		__u64 now_ns = clock_ns();

		if (atomic_load_explicit(&interruptions, memory_order_relaxed) && stop_ns > now_ns)
			stop_ns = now_ns;
		if (now_ns - scanned_ns >= SCAN_PERIOD_NS) {
			scanned_ns = now_ns;
			if (!scan(thread) || now_ns >= stop_ns + DRAIN_NS ||
			    atomic_load_explicit(&interruptions, memory_order_relaxed) > 1)
				break;
		}
		int count = epoll_wait(thread->epoll, events, EVENTS_MAX, 1);

		if (count < 0 && errno != EINTR)
			fail("waiting for answers");
		for (int i = 0; i < count; i++)
			receive(thread, events[i].data.ptr);
	}
	for (unsigned int i = 0; i < thread->client_count; i++) {
		thread->moving = &thread->clients[i];
		workload_stop(&workload, thread, &thread->clients[i].workload, clock_ns());
	}
	return NULL;
}

static void open_client(struct load_thread *thread, struct load_client *client,
			const struct addrinfo *server)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = client };

	client->socket = socket(server->ai_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (client->socket < 0 || connect(client->socket, server->ai_addr, server->ai_addrlen) < 0)
		fail("opening a client's socket to the server");
	if (epoll_ctl(thread->epoll, EPOLL_CTL_ADD, client->socket, &event) < 0)
		fail("adding a client's socket to epoll");
	thread->moving = client;
	workload_start(&workload, thread, &client->workload);
}

static int compare_latency(const void *one, const void *other)
{
	__u64 a = *(const __u64 *)one, b = *(const __u64 *)other;

	return (a > b) - (a < b);
}

static void write_history(const char *path, const struct load_thread *threads,
			  unsigned int thread_count)
{
	FILE *file = fopen(path, "w");

	if (!file)
		fail(path);
	fprintf(file, "# client key operation argument outcome call return\n");
	for (unsigned int t = 0; t < thread_count; t++) {
		for (size_t i = 0; i < threads[t].record_count; i++) {
			const struct load_record *record = &threads[t].records[i];

			fprintf(file, "%llu %llu %s ", record->client, record->key,
				record->operation);
			if (record->argument)
				fputs(record->argument, file);
			else
				fprintf(file, "%llu", record->amount);
			fprintf(file, " %s", record->outcome);
			if (record->detail)
				fprintf(file, ":%llu", record->detail);
			fprintf(file, " %llu ", record->call_ns);
			if (record->return_ns == LOAD_NEVER)
				fputs("-\n", file);
			else
				fprintf(file, "%llu\n", record->return_ns);
		}
	}
	if (ferror(file) || fclose(file) != 0)
		fail(path);
}

static bool was_answered(const struct load_record *record)
{
	return record->return_ns != LOAD_NEVER && strcmp(record->outcome, "-") != 0;
}

/* The latencies of all answered operations, in order. */
static __u64 *sorted_latencies(const struct load_thread *threads, unsigned int thread_count,
			       size_t *count)
{
	size_t capacity = 0;
	__u64 *latencies;

	for (unsigned int t = 0; t < thread_count; t++)
		capacity += threads[t].record_count;
	latencies = calloc(capacity + 1, sizeof(*latencies));
	if (!latencies)
		fail("making room for the latencies");
	*count = 0;
	for (unsigned int t = 0; t < thread_count; t++)
		for (size_t i = 0; i < threads[t].record_count; i++)
			if (was_answered(&threads[t].records[i]))
				latencies[(*count)++] = threads[t].records[i].return_ns -
							threads[t].records[i].call_ns;
	qsort(latencies, *count, sizeof(*latencies), compare_latency);
	return latencies;
}

static void print_summary(const struct load_thread *threads, unsigned int thread_count,
			  double seconds)
{
	static const struct {
		const char *name;
		size_t offset; /* of a __u64 in struct load_counts */
	} counts[] = {
		{ "operations", offsetof(struct load_counts, operations) },
		{ "refused", offsetof(struct load_counts, refused) },
		{ "retries", offsetof(struct load_counts, retries) },
		{ "started", offsetof(struct load_counts, started) },
		{ "timed_out", offsetof(struct load_counts, timed_out) },
		{ "died", offsetof(struct load_counts, died) },
		{ "given_up", offsetof(struct load_counts, given_up) },
		{ "read_back", offsetof(struct load_counts, read_back) },
		{ "read_back_due", offsetof(struct load_counts, read_back_due) },
		{ "unserved", offsetof(struct load_counts, unserved) },
		{ "faults", offsetof(struct load_counts, faults) },
	};
	size_t latency_count;
	__u64 *latencies = sorted_latencies(threads, thread_count, &latency_count);

	printf("{\"seconds\": %.3f", seconds);
	for (size_t c = 0; c < sizeof(counts) / sizeof(*counts); c++) {
		__u64 sum = 0;

		for (unsigned int t = 0; t < thread_count; t++)
			sum += *(const __u64 *)((const char *)&threads[t].counts +
						counts[c].offset);
		printf(", \"%s\": %llu", counts[c].name, sum);
	}
	printf(", \"p50_ns\": %llu, \"p99_ns\": %llu}\n",
	       latency_count ? latencies[latency_count / 2] : 0,
	       latency_count ? latencies[latency_count * 99 / 100] : 0);
	free(latencies);
}

static void usage(FILE *stream)
{
	fprintf(stream,
		"usage: load --server ADDRESS [--clients N] [--threads N] [--seconds N] [--seed N] [--faults PERCENT] [--history FILE] [--tables-seed HEX] [NAME=NUMBER...]\n");
	for (const struct load_option *option = workload_options; option->name; option++)
		fprintf(stream, "  %-10s %s (%llu)\n", option->name, option->meaning,
			option->otherwise);
}

static void set_option(const char *text)
{
	const char *equals = strchr(text, '=');
	char *end = NULL;

	for (const struct load_option *option = workload_options; equals && option->name;
	     option++) {
		size_t length = equals - text;

		if (strlen(option->name) != length || strncmp(option->name, text, length) != 0)
			continue;
		*(__u64 *)((char *)&workload + option->offset) = strtoull(equals + 1, &end, 10);
		if (end != equals + 1 && *end == '\0')
			return;
	}
	fprintf(stderr,
		"load: unknown option '%s' of this workload, or its value is not a number\n", text);
	usage(stderr);
	exit(2);
}

/* Sets the seed of the server's tables, for workloads that choose keys by their cell. The text is
 * as for `load --seed`. */
static void set_tables_seed(const char *text)
{
#ifdef STEPWISE_SEED_PLAIN
	int length = 0;

	if (sscanf(text, "%16llx%16llx%16llx%n", &stepwise_seed.salt, &stepwise_seed.upper,
		   &stepwise_seed.lower, &length) == 3 &&
	    strlen(text) == 48 && length == 48)
		return;
#endif
	fprintf(stderr,
		"load: --tables-seed '%s': give 48 hexadecimal digits, and only for a protocol that hashes a field\n",
		text);
	exit(2);
}

static void on_signal(int number)
{
	(void)number;
	atomic_fetch_add(&interruptions, 1); /* a second one also skips the drain */
}

struct arguments {
	const char *server;
	const char *history;
	double seconds;
	unsigned int client_count;
	unsigned int thread_count;
	__u64 seed;
};

static struct arguments parse_arguments(int argc, char **argv)
{
	static const struct option options[] = {
		{ "server", required_argument, NULL, 'a' },
		{ "clients", required_argument, NULL, 'c' },
		{ "threads", required_argument, NULL, 't' },
		{ "seconds", required_argument, NULL, 's' },
		{ "seed", required_argument, NULL, 'r' },
		{ "history", required_argument, NULL, 'h' },
		{ "faults", required_argument, NULL, 'f' },
		{ "tables-seed", required_argument, NULL, 'k' },
		{ NULL, 0, NULL, 0 },
	};
	struct arguments arguments = {
		.seconds = 1, .client_count = 16, .thread_count = 1, .seed = 1
	};

	for (const struct load_option *option = workload_options; option->name; option++)
		*(__u64 *)((char *)&workload + option->offset) = option->otherwise;
	for (int letter; (letter = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		switch (letter) {
		case 'a':
			arguments.server = optarg;
			break;
		case 'c':
			arguments.client_count = strtoul(optarg, NULL, 10);
			break;
		case 't':
			arguments.thread_count = strtoul(optarg, NULL, 10);
			break;
		case 's':
			arguments.seconds = strtod(optarg, NULL);
			break;
		case 'r':
			arguments.seed = strtoull(optarg, NULL, 10);
			break;
		case 'f':
			fault_percent = strtoul(optarg, NULL, 10);
			break;
		case 'h':
			arguments.history = optarg;
			break;
		case 'k':
			set_tables_seed(optarg);
			break;
		default:
			usage(stderr);
			exit(2);
		}
	}
	while (optind < argc)
		set_option(argv[optind++]);
	if (!arguments.server || !arguments.client_count || !arguments.thread_count ||
	    arguments.seconds <= 0 || arguments.thread_count > arguments.client_count) {
		usage(stderr);
		exit(2);
	}
	return arguments;
}

static struct addrinfo *resolve(const char *server)
{
	struct addrinfo hints = { .ai_socktype = SOCK_DGRAM, .ai_flags = AI_NUMERICHOST }, *found;
	char port[8];
	int error;

	snprintf(port, sizeof(port), "%u", (unsigned int)WORKLOAD_PORT);
	error = getaddrinfo(server, port, &hints, &found);
	if (error) {
		fprintf(stderr, "load: '%s' is not an IPv4 or IPv6 address: %s\n", server,
			gai_strerror(error));
		exit(2);
	}
	return found;
}

int main(int argc, char **argv)
{
	struct arguments arguments = parse_arguments(argc, argv);
	struct addrinfo *server = resolve(arguments.server);
	struct load_thread *threads = calloc(arguments.thread_count, sizeof(*threads));
	__u64 start_ns = clock_ns(), opened = 0;

	if (!threads)
		fail("making room for the threads");
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	stop_ns = start_ns + (__u64)(arguments.seconds * 1e9);
	for (unsigned int t = 0; t < arguments.thread_count; t++) {
		struct load_thread *thread = &threads[t];

		thread->client_count = arguments.client_count / arguments.thread_count +
				       (t < arguments.client_count % arguments.thread_count);
		thread->clients = calloc(thread->client_count, sizeof(*thread->clients));
		thread->epoll = epoll_create1(EPOLL_CLOEXEC);
		if (!thread->clients || thread->epoll < 0)
			fail("setting up a thread");
		for (unsigned int i = 0; i < thread->client_count; i++, opened++) {
			thread->clients[i].random_state = arguments.seed * 1000003 + 2 * opened;
			thread->clients[i].fault_state = thread->clients[i].random_state + 1;
			open_client(thread, &thread->clients[i], server);
		}
	}
	for (unsigned int t = 0; t < arguments.thread_count; t++) {
		errno = pthread_create(&threads[t].thread, NULL, run_thread, &threads[t]);
		if (errno)
			fail("starting a thread");
	}
	for (unsigned int t = 0; t < arguments.thread_count; t++)
		pthread_join(threads[t].thread, NULL);

	__u64 ended_ns = clock_ns();

	print_summary(threads, arguments.thread_count,
		      ((ended_ns < stop_ns ? ended_ns : stop_ns) - start_ns) / 1e9);
	if (arguments.history)
		write_history(arguments.history, threads, arguments.thread_count);
	freeaddrinfo(server);
	return 0;
}
