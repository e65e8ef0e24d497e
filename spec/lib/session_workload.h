/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The client's half of a session (SessionSteps.tla) for a protocol's workload.h,
 * which defines before it includes this
 *
 *   SESSION_MESSAGE     the protocol's message
 *   SESSION_KIND(name)  the enumerator of a kind
 *   SESSION_CAPACITY, SESSION_LEASE_NS, SESSION_SEQUENCE_MODULUS
 */
#ifndef SESSION_WORKLOAD_H
#define SESSION_WORKLOAD_H

#include <string.h>

#include "load.h"

#define SESSION_RETRY_MIN_NS 4000000ull
#define SESSION_RETRY_MAX_NS 64000000ull
#define SESSION_OPEN_PATIENCE_NS 1000000000ull /* then another number is tried */

struct session {
	SESSION_MESSAGE request; /* the last one */
	bool open;
	bool waiting;            /* for the answer to it */
	__u64 identity;          /* of this session in the history: numbers are used again */
	__u64 first_sent_ns;
	__u64 retry_ns;          /* when it is to be sent again */
	__u64 retry_wait_ns;
	__u64 lease_end_ns;      /* the client's own: it begins at the first sending */
};

static inline void session_send(struct session *session, __u64 now_ns)
{
	session->waiting = true;
	session->first_sent_ns = now_ns;
	session->retry_wait_ns = SESSION_RETRY_MIN_NS;
	session->retry_ns = now_ns + session->retry_wait_ns;
}

/* Ask for a session of a random number, which goes on from a random sequence number. */
static inline void session_open(struct load_thread *thread, struct session *session, __u64 now_ns)
{
	memset(session, 0, sizeof(*session));
	session->identity = load_identity();
	session->request.kind = SESSION_KIND(OPEN);
	session->request.client = load_random(thread, SESSION_CAPACITY);
	session->request.sequence = load_random(thread, SESSION_SEQUENCE_MODULUS);
	session_send(session, now_ns);
}

/* A new request of an open session; its other fields are in session->request already. */
static inline void session_request(struct session *session, int kind, __u64 now_ns)
{
	session->request.kind = kind;
	session->request.sequence = (session->request.sequence + 1) % SESSION_SEQUENCE_MODULUS;
	session_send(session, now_ns);
}

/* Whether the client has to stop relying on the session. */
static inline bool session_is_over(const struct session *session, __u64 now_ns)
{
	return session->open && now_ns >= session->lease_end_ns;
}

/* Whether the outstanding request is to be sent again now; otherwise *wake_ns is when. */
static inline bool session_retry(struct session *session, __u64 now_ns, __u64 *wake_ns)
{
	bool due = now_ns >= session->retry_ns;

	if (due) {
		session->retry_wait_ns *= 2;
		if (session->retry_wait_ns > SESSION_RETRY_MAX_NS)
			session->retry_wait_ns = SESSION_RETRY_MAX_NS;
		session->retry_ns = now_ns + session->retry_wait_ns;
	}
	*wake_ns = session->retry_ns;
	return due;
}

/* Whether the message may be the answer to the outstanding request: the kind is the caller's to look at. */
static inline bool session_is_answer(const struct session *session, const SESSION_MESSAGE *message)
{
	if (!session->waiting || message->client != session->request.client ||
	    message->sequence != session->request.sequence)
		return false;
	if (session->request.kind == SESSION_KIND(OPEN))
		return message->kind == SESSION_KIND(OPENED) || message->kind == SESSION_KIND(TAKEN);
	return memcmp(&message->secret, &session->request.secret, sizeof(message->secret)) == 0;
}

/*
 * The outstanding request was answered. Returns false where the session is over:
 * the answer came after the lease that the client could count on.
 */
static inline bool session_answered(struct session *session, const SESSION_MESSAGE *message, __u64 now_ns)
{
	session->waiting = false;
	if (session_is_over(session, now_ns))
		return false;
	if (message->kind == SESSION_KIND(OPENED)) {
		session->open = true;
		session->request.secret = message->secret;
	}
	session->lease_end_ns = session->first_sent_ns + SESSION_LEASE_NS;
	return !session_is_over(session, now_ns);
}

#endif
