/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Chooses what the clients of a load ask a log for: each appends records of random keys, one or
 * several at once, in a closed loop. Every record has a transaction of its own and the next version
 * of its key. See harness/live/load.h.
 */
#ifndef LOG_WORKLOAD_H
#define LOG_WORKLOAD_H

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "log_codec.h"

#define SESSION_MESSAGE struct log_message
#define SESSION_KIND(name) LOG_MESSAGE_KIND_##name
#define SESSION_CAPACITY LOG_CAPACITY_SESSION
#define SESSION_SEQUENCE_MODULUS LOG_SEQUENCE_MODULUS
#define SESSION_TERMS LOG_TERMS
/* This clock may be slower than the server's. */
#define SESSION_LEASE_NS ((__u64)LOG_LEASE * LOG_TICK_NS * 19 / 20)
#include "session_workload.h"

#define WORKLOAD_PORT LOG_PORT
#define WORKLOAD_SIZE LOG_WIRE_SIZE
#define WORKLOAD_SIZE_MAX (LOG_WIRE_SIZE + LOG_OPERATIONS_MAX * LOG_OPERATION_SIZE)
#define WORKLOAD_FULL_WAIT_NS 1000000ull /* after Full, before the client asks again */
#define WORKLOAD_MS 1000000ull
#define WORKLOAD_OF_A_LOAD (1u << 24) /* a load has fewer records than this */
#define WORKLOAD_LOADS 256

struct workload {
	__u64 keys, disk, deletes, period_ms, pause_ms, abandon, load, gather;
};

static const struct load_option workload_options[] = {
	{ "keys", "keys to choose from", offsetof(struct workload, keys), 1024 },
	{ "disk", "percentage of appends that are to be on the disk",
	  offsetof(struct workload, disk), 10 },
	{ "deletes", "percentage of appends that delete their key",
	  offsetof(struct workload, deletes), 5 },
	{ "period",
	  "milliseconds from pause to pause of all clients: a history is judged from one to the next",
	  offsetof(struct workload, period_ms), 50 },
	{ "pause", "milliseconds of it in which nothing is begun",
	  offsetof(struct workload, pause_ms), 10 },
	{ "abandon", "a client dies over one in this many appends; 0: never",
	  offsetof(struct workload, abandon), 0 },
	{ "load",
	  "which of the loads of a log it is: transactions and versions begin behind those of the one before",
	  offsetof(struct workload, load), 0 },
	{ "gather", "most records in one request to memory", offsetof(struct workload, gather), 1 },
	{ NULL },
};

struct workload_client {
	struct session session;
	__u64 rests_until_ns;				   /* because there was no room */
	bool dies;					   /* whatever happens to its request */
	struct log_message operations[LOG_OPERATIONS_MAX]; /* of the request, if it is a Gather */
};

static inline size_t workload_size(const unsigned char *payload)
{
	return LOG_WIRE_SIZE + log_message_operations(payload) * LOG_OPERATION_SIZE;
}

static inline bool workload_is_whole(const unsigned char *payload, size_t size)
{
	return size == workload_size(payload) && size <= WORKLOAD_SIZE_MAX;
}

static inline bool workload_gathers(const struct session *session)
{
	return session->request.kind == LOG_MESSAGE_KIND_GATHER;
}

static inline bool workload_appends(const struct session *session)
{
	return session->request.kind == LOG_MESSAGE_KIND_APPEND || workload_gathers(session);
}

/* The records of the last append: one is the request itself. */
static inline const struct log_message *workload_records(const struct workload_client *client,
							 unsigned int *count)
{
	*count = workload_gathers(&client->session) ? client->session.request.count : 1;
	return workload_gathers(&client->session) ? client->operations : &client->session.request;
}

static atomic_uint *workload_versions; /* the last version given to each key */

/* Called for one client after the other. */
static inline void workload_start(const struct workload *options, struct load_thread *thread,
				  struct workload_client *client)
{
	(void)thread, (void)client;
	if (workload_versions)
		return;
	if (!options->period_ms || options->load >= WORKLOAD_LOADS) {
		fprintf(stderr,
			"load: period=%llu load=%llu: a period has a millisecond at least, and there may be %u loads\n",
			options->period_ms, options->load, WORKLOAD_LOADS);
		exit(2);
	}
	workload_versions = calloc(options->keys, sizeof(*workload_versions));
	if (!workload_versions) {
		fprintf(stderr, "load: no memory for the versions of %llu keys\n", options->keys);
		exit(1);
	}
}

/*
 * Returns a record's identity in the history: its transaction and a checksum of its content.
 * spec/log/live/recovery.py computes the same of an entry.
 */
static inline __u64 workload_identity(const struct log_message *record)
{
	unsigned char payload[WORKLOAD_SIZE];
	__u32 remainder = ~0u;

	log_message_encode(payload, record);
	for (unsigned int at = LOG_WIRE_TRANSACTION; at < LOG_WIRE_EPOCH; at++) {
		remainder ^= payload[at];
		for (int bit = 0; bit < 8; bit++)
			remainder = remainder >> 1 ^ (remainder & 1 ? 0xedb88320u : 0);
	}
	return record->transaction << 32 | (remainder ^ ~0u);
}

/*
 * Records an append, of each of its records. The key in the history is 256 * epoch + log; the
 * client learns both only from an answer, and the number of the last record.
 */
static inline void workload_note(struct load_thread *thread, const struct workload_client *client,
				 const struct log_message *answer, const char *outcome,
				 __u64 return_ns)
{
	const struct session *session = &client->session;
	bool placed = answer && answer->kind != LOG_MESSAGE_KIND_FULL;
	unsigned int count;
	const struct log_message *records = workload_records(client, &count);

	for (unsigned int i = 0; i < count; i++)
		load_record(thread,
			    (struct load_record){ session->identity,
						  placed ? answer->epoch << 8 | answer->log : 0,
						  "append", NULL, outcome, session->first_sent_ns,
						  return_ns, workload_identity(&records[i]),
						  placed ? answer->number - (count - 1 - i) : 0 });
}

/* Ends the session in the history. Its messages may still arrive at the server. */
static inline void workload_lose(struct load_thread *thread, struct workload_client *client)
{
	struct session *session = &client->session;

	if (session->waiting && workload_appends(session))
		workload_note(thread, client, NULL, "-", LOAD_NEVER);
	session->open = session->waiting = false;
}

/*
 * Fills in a record. All bytes of a value come from its transaction, so a torn value matches no
 * transaction.
 */
static inline void workload_fill(const struct workload *options, struct load_thread *thread,
				 struct log_message *record)
{
	static const unsigned int lengths[] = { 0, 1, LOG_VALUE_SIZE - 1, LOG_VALUE_SIZE };
	__u64 key = load_random(thread, options->keys);

	record->transaction = options->load * WORKLOAD_OF_A_LOAD + load_identity();
	record->key = key;
	record->version =
		options->load * WORKLOAD_OF_A_LOAD +
		atomic_fetch_add_explicit(&workload_versions[key], 1, memory_order_relaxed) + 1;
	record->deletes = load_random(thread, 100) < options->deletes;
	record->length = record->deletes ?
				 0 :
				 lengths[load_random(thread, sizeof(lengths) / sizeof(*lengths))];
	memset(&record->value, 0, sizeof(record->value));
	for (unsigned int i = 0; i < record->length; i++)
		record->value.bytes[i] = record->transaction >> i % 8 * 8;
}

static inline void workload_ask(const struct workload *options, struct load_thread *thread,
				struct workload_client *client, __u64 now_ns)
{
	struct log_message *request = &client->session.request;

	request->level = load_random(thread, 100) < options->disk ? LOG_MESSAGE_LEVEL_DISK :
								    LOG_MESSAGE_LEVEL_MEMORY;
	request->epoch = request->log = request->number = request->count = 0;
	if (options->gather > 1 && request->level == LOG_MESSAGE_LEVEL_MEMORY) {
		request->count = 1 + load_random(thread, options->gather < LOG_OPERATIONS_MAX ?
								 options->gather :
								 LOG_OPERATIONS_MAX);
		for (unsigned int i = 0; i < request->count; i++)
			workload_fill(options, thread, &client->operations[i]);
		session_request(&client->session, LOG_MESSAGE_KIND_GATHER, now_ns);
	} else {
		workload_fill(options, thread, request);
		session_request(&client->session, LOG_MESSAGE_KIND_APPEND, now_ns);
	}
	client->dies = options->abandon && load_random(thread, options->abandon) == 0;
}

/* The time before which an open session must not start anything; 0 if it may now. */
static inline __u64 workload_rests_until(const struct workload *options,
					 const struct workload_client *client, __u64 now_ns)
{
	__u64 into_ns = now_ns % (options->period_ms * WORKLOAD_MS);

	if (client->rests_until_ns > now_ns)
		return client->rests_until_ns;
	return into_ns < options->pause_ms * WORKLOAD_MS ?
		       now_ns - into_ns + options->pause_ms * WORKLOAD_MS :
		       0;
}

/* Ends sessions whose client dies or whose lease has ended, and gives up slow openings. */
static inline void workload_end_sessions(struct load_thread *thread, struct workload_client *client,
					 __u64 now_ns)
{
	struct session *session = &client->session;

	if (client->dies || session_is_over(session, now_ns)) {
		if (client->dies)
			load_counts(thread)->died++;
		else
			load_counts(thread)->timed_out++;
		workload_lose(thread, client);
		client->dies = false;
	}
	if (session->waiting && session_is_opening(session) &&
	    now_ns - session->first_sent_ns > SESSION_OPEN_PATIENCE_NS)
		session->waiting = false;
}

static inline enum load_action workload_next(const struct workload *options,
					     struct load_thread *thread,
					     struct workload_client *client, __u64 now_ns,
					     bool stopping, unsigned char *payload, __u64 *wake_ns)
{
	struct session *session = &client->session;
	enum load_action action = LOAD_SEND;

	workload_end_sessions(thread, client, now_ns);
	if (session->waiting) {
		if (!session_retry(session, now_ns, wake_ns))
			return LOAD_WAIT;
		action = LOAD_AGAIN;
	} else if (!session->open) {
		if (stopping)
			return LOAD_FINISH;
		session_open(thread, session, now_ns);
	} else if (stopping) {
		session_request(session, LOG_MESSAGE_KIND_CLOSE, now_ns);
	} else {
		__u64 until_ns = workload_rests_until(options, client, now_ns);

		if (until_ns) {
			*wake_ns = until_ns;
			return LOAD_WAIT;
		}
		workload_ask(options, thread, client, now_ns);
	}
	log_message_encode(payload, &session->request);
	if (workload_gathers(session))
		for (unsigned int i = 0; i < session->request.count; i++)
			log_operation_encode(payload + LOG_WIRE_SIZE + i * LOG_OPERATION_SIZE,
					     &client->operations[i]);
	return action;
}

/* Records an answer to an append in the history. */
static inline void workload_appended(struct load_thread *thread, struct workload_client *client,
				     const struct log_message *message, __u64 now_ns)
{
	bool full = message->kind == LOG_MESSAGE_KIND_FULL;
	unsigned int count;

	workload_records(client, &count);
	load_counts(thread)->operations += count;
	load_counts(thread)->refused += full ? count : 0;
	workload_note(thread, client, message,
		      full				       ? "Full" :
		      message->kind == LOG_MESSAGE_KIND_STORED ? "Stored" :
								 "Appended",
		      now_ns);
	client->rests_until_ns = full ? now_ns + WORKLOAD_FULL_WAIT_NS : 0;
}

/* Returns true if an answer has the records of a Gather. */
static inline bool workload_fits_gather(const struct workload_client *client,
					const struct log_message *message,
					const unsigned char *payload)
{
	const struct log_message *request = &client->session.request;

	if ((message->kind != LOG_MESSAGE_KIND_GATHERED &&
	     message->kind != LOG_MESSAGE_KIND_FULL) ||
	    message->count != request->count)
		return false;
	for (unsigned int i = 0; i < request->count; i++) {
		struct log_message done = *message;

		if (!log_operation_decode(payload + LOG_WIRE_SIZE + i * LOG_OPERATION_SIZE,
					  &done) ||
		    workload_identity(&done) != workload_identity(&client->operations[i]))
			return false;
	}
	return true;
}

static inline bool workload_fits(const struct workload_client *client,
				 const struct log_message *message, const unsigned char *payload)
{
	const struct log_message *request = &client->session.request;

	switch (request->kind) {
	case LOG_MESSAGE_KIND_ASK:
	case LOG_MESSAGE_KIND_OPEN:
		return true;
	case LOG_MESSAGE_KIND_CLOSE:
		return message->kind == LOG_MESSAGE_KIND_CLOSED;
	case LOG_MESSAGE_KIND_GATHER:
		return workload_fits_gather(client, message, payload);
	default:
		return workload_identity(request) == workload_identity(message) &&
		       (message->kind == LOG_MESSAGE_KIND_FULL ||
			message->kind == (request->level == LOG_MESSAGE_LEVEL_DISK ?
						  LOG_MESSAGE_KIND_STORED :
						  LOG_MESSAGE_KIND_APPENDED));
	}
}

/* Returns whether the datagram is the answer that the client waited for. */
static inline bool workload_answer(const struct workload *options, struct load_thread *thread,
				   struct workload_client *client, __u64 now_ns,
				   const unsigned char *payload)
{
	struct session *session = &client->session;
	struct log_message message;

	(void)options;
	if (!log_message_decode(payload, &message) || !session_is_answer(session, &message) ||
	    !workload_fits(client, &message, payload))
		return false;
	if (session->open && session_is_over(session, now_ns))
		return true; /* too late: left waiting until workload_next() ends the session */
	if (session_is_opening(session)) {
		load_counts(thread)->started += session_answered(session, &message, now_ns) &&
						session->open;
	} else if (session->request.kind == LOG_MESSAGE_KIND_CLOSE) {
		session->open = session->waiting = false;
	} else {
		session_answered(session, &message, now_ns);
		workload_appended(thread, client, &message, now_ns);
	}
	return true;
}

/* Ends the load for a client, even if it still waits. */
static inline void workload_stop(const struct workload *options, struct load_thread *thread,
				 struct workload_client *client, __u64 now_ns)
{
	(void)options, (void)now_ns;
	workload_lose(thread, client);
}

#endif
