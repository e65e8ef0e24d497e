/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Chooses what the clients of a load ask a lock server for: each acquires random locks and releases
 * them, in a closed loop. See harness/live/load.h.
 */
#ifndef LOCK_WORKLOAD_H
#define LOCK_WORKLOAD_H

#include <stdio.h>

#include "lock_codec.h"

#define SESSION_MESSAGE struct lock_message
#define SESSION_KIND(name) LOCK_MESSAGE_KIND_##name
#define SESSION_CAPACITY LOCK_CAPACITY_SESSION
#define SESSION_SEQUENCE_MODULUS LOCK_SEQUENCE_MODULUS
#define SESSION_TERMS LOCK_TERMS
/* This clock may be slower than the server's. */
#define SESSION_LEASE_NS ((__u64)LOCK_LEASE * LOCK_TICK_NS * 19 / 20)
#include "session_workload.h"

#define WORKLOAD_PORT LOCK_PORT
#define WORKLOAD_SIZE LOCK_WIRE_SIZE
#define WORKLOAD_SIZE_MAX (LOCK_WIRE_SIZE + LOCK_OPERATIONS_MAX * LOCK_OPERATION_SIZE)
#define WORKLOAD_HELD_MAX 64

struct workload {
	__u64 locks, shared, hold, abandon, gather;
};

static const struct load_option workload_options[] = {
	{ "locks", "lock ids to choose from", offsetof(struct workload, locks), 1024 },
	{ "shared", "percentage of acquires that are shared", offsetof(struct workload, shared),
	  80 },
	{ "hold", "most locks that a client holds", offsetof(struct workload, hold), 1 },
	{ "abandon", "a client dies after one in this many grants; 0: never",
	  offsetof(struct workload, abandon), 0 },
	{ "gather", "most locks in one request", offsetof(struct workload, gather), 1 },
	{ NULL },
};

struct workload_client {
	struct session session;
	bool closing;
	bool died;
	unsigned int held_count;
	__u64 held[WORKLOAD_HELD_MAX];
	struct lock_message operations[LOCK_OPERATIONS_MAX]; /* of the request, if it is a Gather */
	unsigned int alone_count;			     /* acquires to ask for alone */
	struct lock_message alone[LOCK_OPERATIONS_MAX];
};

static inline size_t workload_size(const unsigned char *payload)
{
	return LOCK_WIRE_SIZE + lock_message_operations(payload) * LOCK_OPERATION_SIZE;
}

static inline bool workload_is_whole(const unsigned char *payload, size_t size)
{
	return size == workload_size(payload) && size <= WORKLOAD_SIZE_MAX;
}

static inline void workload_start(const struct workload *options, struct load_thread *thread,
				  struct workload_client *client)
{
	(void)options, (void)thread;
	memset(client, 0, sizeof(*client));
}

static inline bool workload_gathers(const struct session *session)
{
	return session->request.kind == LOCK_MESSAGE_KIND_GATHER;
}

/* The acquires and releases of the last request, which is one itself if it gathers none. */
static inline struct lock_message *workload_operations(struct workload_client *client,
						       unsigned int *count)
{
	*count = workload_gathers(&client->session) ? client->session.request.count : 1;
	return workload_gathers(&client->session) ? client->operations : &client->session.request;
}

/*
 * Ends the session in the history. The server takes back its locks, after the client's own lease
 * end.
 */
static inline void workload_lose(struct load_thread *thread, struct workload_client *client)
{
	struct session *session = &client->session;
	unsigned int count;
	const struct lock_message *asked = workload_operations(client, &count);

	for (unsigned int i = 0; session->waiting && i < count; i++)
		if (asked[i].kind == LOCK_MESSAGE_KIND_RELEASE)
			load_record(thread, (struct load_record){ session->identity, asked[i].lock,
								  "release", "-", "-",
								  session->first_sent_ns,
								  LOAD_NEVER, 0, 0 });
	for (unsigned int i = 0; i < client->held_count; i++)
		load_record(thread,
			    (struct load_record){ session->identity, client->held[i], "expire", "-",
						  "-", session->lease_end_ns, LOAD_NEVER, 0, 0 });
	client->held_count = client->alone_count = 0;
	session->open = session->waiting = false;
}

static inline bool workload_holds(const struct workload_client *client, __u64 lock)
{
	for (unsigned int i = 0; i < client->held_count; i++)
		if (client->held[i] == lock)
			return true;
	return false;
}

/*
 * Chooses a release. The client stops believing in a lock when it sends the release, so the lock
 * leaves `held` here.
 */
static inline void workload_release(struct load_thread *thread, struct workload_client *client,
				    struct lock_message *asked)
{
	unsigned int i = load_random(thread, client->held_count);

	asked->kind = LOCK_MESSAGE_KIND_RELEASE;
	asked->mode = LOCK_LOCK_MODE_FREE;
	asked->lock = client->held[i];
	client->held[i] = client->held[--client->held_count];
}

/* Chooses an acquire, or a release. */
static inline void workload_choose(const struct workload *options, struct load_thread *thread,
				   struct workload_client *client, struct lock_message *asked)
{
	__u64 hold = options->hold < WORKLOAD_HELD_MAX ? options->hold : WORKLOAD_HELD_MAX;
	__u64 lock = 1 + load_random(thread, options->locks);

	if (client->held_count && (client->held_count >= hold || workload_holds(client, lock) ||
				   load_random(thread, 2))) {
		workload_release(thread, client, asked);
		return;
	}
	asked->kind = LOCK_MESSAGE_KIND_ACQUIRE;
	asked->lock = lock;
	asked->mode = load_random(thread, 100) < options->shared ? LOCK_LOCK_MODE_SHARED :
								   LOCK_LOCK_MODE_EXCLUSIVE;
}

static inline bool workload_is_gathered(const struct workload_client *client, __u64 lock)
{
	for (unsigned int i = 0; i < client->session.request.count; i++)
		if (client->operations[i].lock == lock)
			return true;
	return false;
}

/*
 * Gathers up to so many acquires and releases, each of another lock. There is room in `held` for
 * all that are granted, and for those that are not released.
 */
static inline void workload_gather(const struct workload *options, struct load_thread *thread,
				   struct workload_client *client, __u64 now_ns)
{
	struct lock_message *request = &client->session.request;
	const __u64 most = 1 + load_random(thread, options->gather);

	request->count = 0;
	for (__u64 tries = 0; tries < most && request->count < LOCK_OPERATIONS_MAX; tries++) {
		struct lock_message asked = {};

		if (client->held_count + request->count >= WORKLOAD_HELD_MAX)
			break;
		workload_choose(options, thread, client, &asked);
		if (!workload_is_gathered(client, asked.lock))
			client->operations[request->count++] = asked;
		else if (asked.kind == LOCK_MESSAGE_KIND_RELEASE)
			client->held[client->held_count++] = asked.lock;
	}
	request->mode = LOCK_LOCK_MODE_FREE;
	request->lock = 0;
	session_request(&client->session, LOCK_MESSAGE_KIND_GATHER, now_ns);
}

/* Starts a request for one lock. */
static inline void workload_ask_for(struct workload_client *client,
				    const struct lock_message *asked, __u64 now_ns)
{
	client->session.request.lock = asked->lock;
	client->session.request.mode = asked->mode;
	client->session.request.count = 0;
	session_request(&client->session, asked->kind, now_ns);
}

static inline void workload_ask(const struct workload *options, struct load_thread *thread,
				struct workload_client *client, __u64 now_ns)
{
	struct lock_message asked = {};

	if (client->alone_count) {
		workload_ask_for(client, &client->alone[--client->alone_count], now_ns);
	} else if (options->gather > 1) {
		workload_gather(options, thread, client, now_ns);
	} else {
		workload_choose(options, thread, client, &asked);
		workload_ask_for(client, &asked, now_ns);
	}
}

/* Gives back every lock, then closes the session. */
static inline void workload_wind_up(struct load_thread *thread, struct workload_client *client,
				    __u64 now_ns)
{
	struct lock_message asked = {};

	if (client->held_count) {
		workload_release(thread, client, &asked);
		workload_ask_for(client, &asked, now_ns);
		return;
	}
	client->closing = true;
	session_request(&client->session, LOCK_MESSAGE_KIND_CLOSE, now_ns);
}

static inline enum load_action workload_next(const struct workload *options,
					     struct load_thread *thread,
					     struct workload_client *client, __u64 now_ns,
					     bool stopping, unsigned char *payload, __u64 *wake_ns)
{
	struct session *session = &client->session;
	enum load_action action = LOAD_SEND;

	if (client->died || session_is_over(session, now_ns)) {
		if (client->died)
			load_counts(thread)->died++;
		else
			load_counts(thread)->timed_out++;
		workload_lose(thread, client);
		client->died = false;
	}
	if (session->waiting && session_is_opening(session) &&
	    now_ns - session->first_sent_ns > SESSION_OPEN_PATIENCE_NS)
		session->waiting = false;
	if (session->waiting) {
		if (!session_retry(session, now_ns, wake_ns))
			return LOAD_WAIT;
		action = LOAD_AGAIN;
	} else if (!session->open) {
		if (stopping)
			return LOAD_FINISH;
		session_open(thread, session, now_ns);
	} else if (stopping) {
		workload_wind_up(thread, client, now_ns);
	} else {
		workload_ask(options, thread, client, now_ns);
	}
	lock_message_encode(payload, &session->request);
	if (workload_gathers(session))
		for (unsigned int i = 0; i < session->request.count; i++)
			lock_operation_encode(payload + LOCK_WIRE_SIZE + i * LOCK_OPERATION_SIZE,
					      &client->operations[i]);
	return action;
}

static inline const char *workload_mode(__u64 mode)
{
	return mode == LOCK_LOCK_MODE_SHARED ? "Shared" : "Exclusive";
}

static inline void workload_granted(const struct workload *options, struct load_thread *thread,
				    struct workload_client *client, __u64 lock)
{
	client->held[client->held_count++] = lock;
	client->died |= options->abandon && load_random(thread, options->abandon) == 0;
}

/*
 * Records the answer to an acquire or a release in the history. One that was left to be asked for
 * alone was not executed.
 */
static inline void workload_note(const struct workload *options, struct load_thread *thread,
				 struct workload_client *client, const struct lock_message *asked,
				 enum lock_message_kind answer, __u64 now_ns)
{
	struct session *session = &client->session;
	bool acquire = asked->kind == LOCK_MESSAGE_KIND_ACQUIRE;
	bool rejected = answer == LOCK_MESSAGE_KIND_REJECTED;
	const char *outcome = rejected ? "Rejected" : acquire ? "Granted" : "Released";

	if (answer == LOCK_MESSAGE_KIND_ACQUIRE) {
		client->alone[client->alone_count++] = *asked;
		return;
	}
	if (answer == LOCK_MESSAGE_KIND_RELEASE) {
		client->held[client->held_count++] = asked->lock;
		return;
	}
	load_counts(thread)->operations++;
	load_counts(thread)->refused += rejected;
	load_record(thread, (struct load_record){ session->identity, asked->lock,
						  acquire ? "acquire" : "release",
						  acquire ? workload_mode(asked->mode) : "-",
						  outcome, session->first_sent_ns, now_ns, 0, 0 });
	if (acquire && !rejected)
		workload_granted(options, thread, client, asked->lock);
	else if (!acquire && rejected) /* too much contention: to be retried */
		client->held[client->held_count++] = asked->lock;
}

/* Records the answers to all that the last request asked for. */
static inline void workload_note_all(const struct workload *options, struct load_thread *thread,
				     struct workload_client *client,
				     const struct lock_message *message,
				     const unsigned char *payload, __u64 now_ns)
{
	unsigned int count;
	const struct lock_message *asked = workload_operations(client, &count);

	for (unsigned int i = 0; i < count; i++) {
		struct lock_message done = *message;

		if (workload_gathers(&client->session))
			lock_operation_decode(payload + LOCK_WIRE_SIZE + i * LOCK_OPERATION_SIZE,
					      &done);
		workload_note(options, thread, client, &asked[i], done.kind, now_ns);
	}
}

/* Returns true if `done` is an outcome of an acquire or a release. */
static inline bool workload_is_outcome(const struct lock_message *asked,
				       const struct lock_message *done)
{
	return done->lock == asked->lock && done->mode == asked->mode &&
	       (done->kind == LOCK_MESSAGE_KIND_REJECTED ||
		done->kind == (asked->kind == LOCK_MESSAGE_KIND_ACQUIRE ?
				       LOCK_MESSAGE_KIND_GRANTED :
				       LOCK_MESSAGE_KIND_RELEASED));
}

/* Returns true if an answer has an outcome for each operation, or leaves it to be asked for alone.
 */
static inline bool workload_fits_gather(const struct workload_client *client,
					const struct lock_message *message,
					const unsigned char *payload)
{
	const struct lock_message *request = &client->session.request;

	if (message->kind != LOCK_MESSAGE_KIND_GATHERED || message->count != request->count)
		return false;
	for (unsigned int i = 0; i < request->count; i++) {
		const struct lock_message *asked = &client->operations[i];
		struct lock_message done = *message;

		if (!lock_operation_decode(payload + LOCK_WIRE_SIZE + i * LOCK_OPERATION_SIZE,
					   &done))
			return false;
		if (done.kind == asked->kind)
			done.kind = LOCK_MESSAGE_KIND_REJECTED; /* any outcome will do */
		if (!workload_is_outcome(asked, &done))
			return false;
	}
	return true;
}

static inline bool workload_fits(const struct workload_client *client,
				 const struct lock_message *message, const unsigned char *payload)
{
	const struct lock_message *request = &client->session.request;

	switch (request->kind) {
	case LOCK_MESSAGE_KIND_ASK:
	case LOCK_MESSAGE_KIND_OPEN:
		return true;
	case LOCK_MESSAGE_KIND_CLOSE:
		return message->kind == LOCK_MESSAGE_KIND_CLOSED;
	case LOCK_MESSAGE_KIND_GATHER:
		return workload_fits_gather(client, message, payload);
	default:
		return workload_is_outcome(request, message);
	}
}

/* Returns whether the datagram is the answer that the client waited for. */
static inline bool workload_answer(const struct workload *options, struct load_thread *thread,
				   struct workload_client *client, __u64 now_ns,
				   const unsigned char *payload)
{
	struct session *session = &client->session;
	struct lock_message message;

	if (!lock_message_decode(payload, &message) || !session_is_answer(session, &message) ||
	    !workload_fits(client, &message, payload))
		return false;
	if (session->open && session_is_over(session, now_ns))
		return true; /* too late: left waiting until workload_next() ends the session */
	if (session_is_opening(session)) {
		load_counts(thread)->started += session_answered(session, &message, now_ns) &&
						session->open;
	} else if (session->request.kind == LOCK_MESSAGE_KIND_CLOSE) {
		session->open = session->waiting = false;
	} else {
		session_answered(session, &message, now_ns);
		workload_note_all(options, thread, client, &message, payload, now_ns);
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
