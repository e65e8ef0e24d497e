// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * ask: one client that asks for many operations, over UDP. With --at-once all of them are asked for
 * before the first message is sent, and so they are gathered. Otherwise each is asked for when the
 * one before it was answered. Every operation must have the outcome that the protocol's asks.h
 * expects. It prints how long that took, as JSON.
 *
 * A protocol joins with spec/<protocol>/live/asks.h: see docs/reference/live.md.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "asks.h"

#define ASK_RETRY_US 20000
#define ASK_PATIENCE_NS 5000000000ull /* for the answer to one message */
#define ASK_DATAGRAM_MAX 2048
#define OPERATION_OFFSET(i) (ASKS_CONSTANT(WIRE_SIZE) + (size_t)(i) * ASKS_CONSTANT(OPERATION_SIZE))

#define encode_operation ASKS_FUNCTION(operation_encode)
#define decode_operation ASKS_FUNCTION(operation_decode)

/* The client. A message of its own is on its way, or none. */
struct asker {
	int socket;
	struct session session;
	struct session_read read;
	struct gathering gathering;
	SESSION_MESSAGE operations[GATHERING_MAX]; /* of the message, or the one that it is */
	unsigned int count;
	__u64 message_count, retry_count, alone_count;
	__u64 *latencies; /* of operations, from the making of their message to its answer */
	size_t answered_count;
};

static __u64 random_state;

static __u64 read_clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static __u64 clock_ns(void)
{
	return read_clock_ns(CLOCK_MONOTONIC);
}

static _Noreturn void fail(const char *doing)
{
	fprintf(stderr, "ask: %s: %s\n", doing, strerror(errno));
	exit(1);
}

_Noreturn void load_refuse(const char *reason)
{
	fprintf(stderr, "ask: %s\n", reason);
	exit(1);
}

__u64 load_identity(void)
{
	return 1;
}

__u64 load_random(struct load_thread *thread, __u64 limit)
{
	(void)thread;
	return load_draw(&random_state, limit);
}

/* Encodes a message, and the client's operations if it has any. Returns its size. */
static size_t encode(const struct asker *asker, const SESSION_MESSAGE *message,
		     unsigned char *payload)
{
	ASKS_FUNCTION(message_encode)(payload, message);
	for (unsigned int i = 0; i < ASKS_FUNCTION(message_operations)(payload); i++)
		encode_operation(payload + OPERATION_OFFSET(i), &asker->operations[i]);
	return OPERATION_OFFSET(ASKS_FUNCTION(message_operations)(payload));
}

/* Returns true if a datagram is the answer to the message that is on its way. */
static bool is_answer(const struct asker *asker, const unsigned char *payload, ssize_t size,
		      SESSION_MESSAGE *answer)
{
	if (size < ASKS_CONSTANT(WIRE_SIZE) || !workload_is_whole(payload, size) ||
	    !ASKS_FUNCTION(message_decode)(payload, answer))
		return false;
	if (asker->read.waiting)
		return session_is_read_answer(&asker->read, answer);
	return session_is_answer(&asker->session, answer);
}

/*
 * Sends a message until it is answered. Puts the answer into `answer`, and the whole datagram into
 * `payload`.
 */
static void exchange(struct asker *asker, const SESSION_MESSAGE *message, SESSION_MESSAGE *answer,
		     unsigned char *payload)
{
	unsigned char request[ASK_DATAGRAM_MAX];
	const size_t size = encode(asker, message, request);
	const __u64 end_ns = clock_ns() + ASK_PATIENCE_NS;

	asker->message_count++;
	for (__u64 sendings = 0; clock_ns() < end_ns; sendings++) {
		ssize_t received = 0;

		asker->retry_count += sendings > 0;
		if (send(asker->socket, request, size, 0) < 0 && errno != ECONNREFUSED &&
		    errno != ENOBUFS)
			fail("sending a request");
		while (received >= 0) {
			received = recv(asker->socket, payload, ASK_DATAGRAM_MAX, 0);
			if (received >= 0 && is_answer(asker, payload, received, answer))
				return;
		}
		if (errno != EAGAIN && errno != ECONNREFUSED && errno != EINTR)
			fail("receiving an answer");
	}
	load_refuse("a message was not answered");
}

/* Opens a session; if its number is taken, another one. */
static void open_session(struct asker *asker)
{
	unsigned char payload[ASK_DATAGRAM_MAX];
	SESSION_MESSAGE answer;
	const __u64 end_ns = clock_ns() + ASK_PATIENCE_NS;

	while (!asker->session.open && clock_ns() < end_ns) {
		session_open(NULL, &asker->session, clock_ns());
		exchange(asker, &asker->session.request, &answer, payload);
		session_answered(&asker->session, &answer, clock_ns());
	}
	if (!asker->session.open)
		load_refuse("no session is free");
	asker->read.request.sequence = asker->session.request.sequence;
}

static void close_session(struct asker *asker)
{
	unsigned char payload[ASK_DATAGRAM_MAX];
	SESSION_MESSAGE answer;

	asker->session.request.count = 0;
	session_request(&asker->session, SESSION_KIND(CLOSE), clock_ns());
	exchange(asker, &asker->session.request, &answer, payload);
}

/* Sends the client's operations in one message, or the only one as a message itself. */
static void ask_together(struct asker *asker, SESSION_MESSAGE *answer, unsigned char *payload)
{
	SESSION_MESSAGE message = asker->operations[0];
	const SESSION_MESSAGE *asked = &asker->session.request;

	if (asker->count > 1) {
		memset(&message, 0, sizeof(message));
		message.kind = asks_kind_of_several(asker->operations, asker->count);
		message.count = asker->count;
	}
	if (asks_is_read(message.kind)) {
		message.sequence = asker->read.request.sequence;
		asker->read.request = message;
		session_read(&asker->session, &asker->read, message.kind, clock_ns());
		asked = &asker->read.request;
	} else {
		message.client = asker->session.request.client;
		message.sequence = asker->session.request.sequence;
		message.secret = asker->session.request.secret;
		asker->session.request = message;
		session_request(&asker->session, message.kind, clock_ns());
	}
	exchange(asker, asked, answer, payload);
	if (asker->read.waiting)
		asker->read.waiting = false;
	else if (!session_answered(&asker->session, answer, clock_ns()))
		load_refuse("the session's lease has ended");
}

static void must_be_right(const SESSION_MESSAGE *asked, const SESSION_MESSAGE *done)
{
	if (asks_is_right(asked, done))
		return;
	fprintf(stderr, "ask: an operation of kind %d was answered with kind %d\n", asked->kind,
		done->kind);
	exit(1);
}

/*
 * Sends the next message, and notes its outcomes. Operations that the kernel left alone are asked
 * for one by one.
 */
static void ask_next(struct asker *asker)
{
	unsigned char payload[ASK_DATAGRAM_MAX], other[ASK_DATAGRAM_MAX];
	SESSION_MESSAGE answer, left[GATHERING_MAX];
	unsigned int left_count = 0;
	const __u64 began_ns = clock_ns();

	asker->count = gathering_take(&asker->gathering, asker->operations);
	ask_together(asker, &answer, payload);
	for (unsigned int i = 0; i < asker->count; i++) {
		SESSION_MESSAGE done = answer;

		if (asker->count > 1 && !decode_operation(payload + OPERATION_OFFSET(i), &done))
			load_refuse("an answer has a malformed operation");
		if (asker->count > 1 && done.kind == asker->operations[i].kind) {
			left[left_count++] = asker->operations[i];
			continue;
		}
		must_be_right(&asker->operations[i], &done);
		asker->latencies[asker->answered_count++] = clock_ns() - began_ns;
	}
	for (unsigned int i = 0; i < left_count; i++) {
		asker->operations[0] = left[i];
		asker->count = 1;
		ask_together(asker, &answer, other);
		must_be_right(&left[i], &answer);
		asker->latencies[asker->answered_count++] = clock_ns() - began_ns;
	}
	asker->alone_count += left_count;
}

static void ask(struct asker *asker, unsigned int workload, unsigned int turn, __u64 number)
{
	SESSION_MESSAGE asked = {};

	asks_make(workload, turn, number, &asked);
	if (!gathering_ask(&asker->gathering, &asked))
		fail("making room for operations");
}

static int compare(const void *one, const void *other)
{
	__u64 a = *(const __u64 *)one, b = *(const __u64 *)other;

	return (a > b) - (a < b);
}

struct arguments {
	const char *server;
	__u64 count;
	__u64 repeat;
	bool at_once;
	unsigned int workload;
};

static _Noreturn void usage(void)
{
	fprintf(stderr,
		"usage: ask --server IPV4 [--count N] [--repeat N] [--seed N] [--at-once] WORKLOAD\nworkloads:");
	for (const char *const *name = asks_names; *name; name++)
		fprintf(stderr, " %s", *name);
	fputc('\n', stderr);
	exit(2);
}

static struct arguments parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "server", required_argument, NULL, 'a' },
		{ "count", required_argument, NULL, 'c' },
		{ "repeat", required_argument, NULL, 'n' },
		{ "seed", required_argument, NULL, 'r' },
		{ "at-once", no_argument, NULL, 'o' },
		{ NULL, 0, NULL, 0 },
	};
	struct arguments arguments = { .count = 1000, .repeat = 1 };

	for (int letter; (letter = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		switch (letter) {
		case 'a':
			arguments.server = optarg;
			break;
		case 'c':
			arguments.count = strtoull(optarg, NULL, 10);
			break;
		case 'n':
			arguments.repeat = strtoull(optarg, NULL, 10);
			break;
		case 'r':
			random_state = strtoull(optarg, NULL, 10);
			break;
		case 'o':
			arguments.at_once = true;
			break;
		default:
			usage();
		}
	}
	if (!arguments.server || !arguments.count || !arguments.repeat || optind != argc - 1)
		usage();
	while (asks_names[arguments.workload] &&
	       strcmp(asks_names[arguments.workload], argv[optind]) != 0)
		arguments.workload++;
	if (!asks_names[arguments.workload])
		usage();
	return arguments;
}

static int connected(const char *address)
{
	const struct timeval retry = { .tv_usec = ASK_RETRY_US };
	struct sockaddr_in server = { .sin_family = AF_INET, .sin_port = htons(WORKLOAD_PORT) };
	int made = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (inet_pton(AF_INET, address, &server.sin_addr) != 1)
		usage();
	if (made < 0 || connect(made, (const struct sockaddr *)&server, sizeof(server)) < 0 ||
	    setsockopt(made, SOL_SOCKET, SO_RCVTIMEO, &retry, sizeof(retry)) < 0)
		fail("opening a socket to the server");
	return made;
}

/* Asks for all operations of one turn. */
static void ask_for_all(struct asker *asker, const struct arguments *arguments, unsigned int turn)
{
	for (__u64 number = 0; number < arguments->count; number++) {
		ask(asker, arguments->workload, turn, number);
		if (!arguments->at_once)
			ask_next(asker);
	}
	while (asker->gathering.first < asker->gathering.end)
		ask_next(asker);
}

int main(int argc, char **argv)
{
	struct arguments arguments = parse(argc, argv);
	const __u64 total = arguments.repeat * arguments.count * asks_turns(arguments.workload);
	struct asker asker = { .socket = connected(arguments.server),
			       .latencies = calloc(total, sizeof(*asker.latencies)) };
	__u64 began_ns, spent_ns, began_cpu_ns, spent_cpu_ns;

	if (!asker.latencies)
		fail("making room for the latencies");
	open_session(&asker);
	asker.message_count = asker.retry_count = 0;
	began_ns = clock_ns();
	began_cpu_ns = read_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	for (__u64 i = 0; i < arguments.repeat; i++)
		for (unsigned int turn = 0; turn < asks_turns(arguments.workload); turn++)
			ask_for_all(&asker, &arguments, turn);
	spent_cpu_ns = read_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - began_cpu_ns;
	spent_ns = clock_ns() - began_ns;
	printf("{\"operations\": %zu, \"seconds\": %.9f, \"cpu_seconds\": %.9f, \"messages\": %llu, \"retries\": %llu, \"left_alone\": %llu",
	       asker.answered_count, spent_ns / 1e9, spent_cpu_ns / 1e9, asker.message_count,
	       asker.retry_count, asker.alone_count);
	close_session(&asker);
	qsort(asker.latencies, asker.answered_count, sizeof(*asker.latencies), compare);
	printf(", \"p50_ns\": %llu, \"p99_ns\": %llu}\n", asker.latencies[total / 2],
	       asker.latencies[total * 99 / 100]);
	free(asker.gathering.asked);
	free(asker.latencies);
	close(asker.socket);
	return 0;
}
