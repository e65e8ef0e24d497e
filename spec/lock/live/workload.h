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
#define WORKLOAD_HELD_MAX 64

struct workload {
	__u64 locks, shared, hold, abandon;
};

static const struct load_option workload_options[] = {
	{ "locks", "lock ids to choose from", offsetof(struct workload, locks), 1024 },
	{ "shared", "percentage of acquires that are shared", offsetof(struct workload, shared),
	  80 },
	{ "hold", "most locks that a client holds", offsetof(struct workload, hold), 1 },
	{ "abandon", "a client dies after one in this many grants; 0: never",
	  offsetof(struct workload, abandon), 0 },
	{ NULL },
};

struct workload_client {
	struct session session;
	bool closing;
	bool died;
	unsigned int held_count;
	__u64 held[WORKLOAD_HELD_MAX];
};

static inline void workload_start(const struct workload *options, struct load_thread *thread,
				  struct workload_client *client)
{
	(void)options, (void)thread;
	memset(client, 0, sizeof(*client));
}

/*
 * Ends the session in the history. The server takes back its locks, after the client's own lease
 * end.
 */
static inline void workload_lose(struct load_thread *thread, struct workload_client *client)
{
	struct session *session = &client->session;

	if (session->waiting && session->request.kind == LOCK_MESSAGE_KIND_RELEASE)
		load_record(thread, (struct load_record){
					    session->identity, session->request.lock, "release",
					    "-", "-", session->first_sent_ns, LOAD_NEVER, 0, 0 });
	for (unsigned int i = 0; i < client->held_count; i++)
		load_record(thread,
			    (struct load_record){ session->identity, client->held[i], "expire", "-",
						  "-", session->lease_end_ns, LOAD_NEVER, 0, 0 });
	client->held_count = 0;
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
 * Starts a release. The client stops believing in a lock when it sends the release, so the lock
 * leaves `held` here.
 */
static inline void workload_release(struct load_thread *thread, struct workload_client *client,
				    __u64 now_ns)
{
	unsigned int i = load_random(thread, client->held_count);

	client->session.request.lock = client->held[i];
	client->session.request.mode = LOCK_LOCK_MODE_FREE;
	client->held[i] = client->held[--client->held_count];
	session_request(&client->session, LOCK_MESSAGE_KIND_RELEASE, now_ns);
}

static inline void workload_ask(const struct workload *options, struct load_thread *thread,
				struct workload_client *client, __u64 now_ns)
{
	struct session *session = &client->session;
	__u64 hold = options->hold < WORKLOAD_HELD_MAX ? options->hold : WORKLOAD_HELD_MAX;
	__u64 lock = 1 + load_random(thread, options->locks);

	if (client->held_count && (client->held_count >= hold || workload_holds(client, lock) ||
				   load_random(thread, 2))) {
		workload_release(thread, client, now_ns);
		return;
	}
	session->request.lock = lock;
	session->request.mode = load_random(thread, 100) < options->shared ?
					LOCK_LOCK_MODE_SHARED :
					LOCK_LOCK_MODE_EXCLUSIVE;
	session_request(session, LOCK_MESSAGE_KIND_ACQUIRE, now_ns);
}

/* Gives back every lock, then closes the session. */
static inline void workload_wind_up(struct load_thread *thread, struct workload_client *client,
				    __u64 now_ns)
{
	if (client->held_count) {
		workload_release(thread, client, now_ns);
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
	return action;
}

static inline const char *workload_mode(__u64 mode)
{
	return mode == LOCK_LOCK_MODE_SHARED ? "Shared" : "Exclusive";
}

static inline void workload_granted(const struct workload *options, struct load_thread *thread,
				    struct workload_client *client)
{
	client->held[client->held_count++] = client->session.request.lock;
	client->died = options->abandon && load_random(thread, options->abandon) == 0;
}

/* Records an answer to an acquire or a release in the history. */
static inline void workload_note(const struct workload *options, struct load_thread *thread,
				 struct workload_client *client, const struct lock_message *message,
				 __u64 now_ns)
{
	struct session *session = &client->session;
	bool acquire = session->request.kind == LOCK_MESSAGE_KIND_ACQUIRE;
	bool rejected = message->kind == LOCK_MESSAGE_KIND_REJECTED;
	const char *outcome = rejected ? "Rejected" : acquire ? "Granted" : "Released";

	load_counts(thread)->operations++;
	load_counts(thread)->refused += rejected;
	load_record(thread,
		    (struct load_record){ session->identity, session->request.lock,
					  acquire ? "acquire" : "release",
					  acquire ? workload_mode(session->request.mode) : "-",
					  outcome, session->first_sent_ns, now_ns, 0, 0 });
	if (acquire && !rejected)
		workload_granted(options, thread, client);
	else if (!acquire && rejected) /* too much contention: to be retried */
		client->held[client->held_count++] = session->request.lock;
}

static inline bool workload_fits(const struct lock_message *request,
				 const struct lock_message *message)
{
	switch (request->kind) {
	case LOCK_MESSAGE_KIND_ASK:
	case LOCK_MESSAGE_KIND_OPEN:
		return true;
	case LOCK_MESSAGE_KIND_CLOSE:
		return message->kind == LOCK_MESSAGE_KIND_CLOSED;
	case LOCK_MESSAGE_KIND_ACQUIRE:
		return message->lock == request->lock && message->mode == request->mode &&
		       (message->kind == LOCK_MESSAGE_KIND_GRANTED ||
			message->kind == LOCK_MESSAGE_KIND_REJECTED);
	default:
		return message->lock == request->lock &&
		       (message->kind == LOCK_MESSAGE_KIND_RELEASED ||
			message->kind == LOCK_MESSAGE_KIND_REJECTED);
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
	    !workload_fits(&session->request, &message))
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
		workload_note(options, thread, client, &message, now_ns);
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
