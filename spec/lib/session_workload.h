/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The client's half of a session (SessionSteps.tla) for a protocol's workload.h,
 * which defines before it includes this
 *
 *   SESSION_MESSAGE     the protocol's message
 *   SESSION_KIND(name)  the enumerator of a kind
 *   SESSION_CAPACITY, SESSION_LEASE_NS, SESSION_SEQUENCE_MODULUS, SESSION_TERMS
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
	bool invited;	/* request has the number and the token with which it is to be opened */
	bool waiting;	/* for the answer to it */
	__u64 identity; /* of this session in the history: numbers are used again */
	__u64 first_sent_ns;
	__u64 retry_ns; /* when it is to be sent again */
	__u64 retry_wait_ns;
	__u64 lease_end_ns; /* the client's own: it begins at the first sending */

	/* The one before, where the client did not wait for its answer: executed or not, until this
	 * one is answered. */
	SESSION_MESSAGE given_up;
	bool has_given_up;
	bool given_up_is_next; /* to be sent: the server takes the requests in their order, and may
				  not have it */
	__u64 given_up_sent_ns;
};

/* A read is numbered apart; it may wait beside a request. */
struct session_read {
	SESSION_MESSAGE request;
	bool waiting;
	__u64 first_sent_ns;
	__u64 retry_ns;
	__u64 retry_wait_ns;
};

static inline void session_send(struct session *session, __u64 now_ns)
{
	session->waiting = true;
	session->first_sent_ns = now_ns;
	session->retry_wait_ns = SESSION_RETRY_MIN_NS;
	session->retry_ns = now_ns + session->retry_wait_ns;
}

/*
 * Ask to be invited to a session of a random number, and say by which terms the client understands
 * what it is granted. Or open the one that it was invited to, which goes on from a random sequence
 * number.
 */
static inline void session_open(struct load_thread *thread, struct session *session, __u64 now_ns)
{
	const SESSION_MESSAGE invitation = session->request;
	const bool invited = session->invited;

	memset(session, 0, sizeof(*session));
	session->identity = load_identity();
	session->request.kind = invited ? SESSION_KIND(OPEN) : SESSION_KIND(ASK);
	session->request.client = invited ? invitation.client :
					    load_random(thread, SESSION_CAPACITY);
	session->request.sequence = load_random(thread, SESSION_SEQUENCE_MODULUS);
	session->request.secret = invited ? invitation.secret : SESSION_TERMS;
	session_send(session, now_ns);
}

/* Whether the outstanding request is one of a client that has no session yet. */
static inline bool session_is_opening(const struct session *session)
{
	return session->request.kind == SESSION_KIND(ASK) ||
	       session->request.kind == SESSION_KIND(OPEN);
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

static inline bool session_due(__u64 *retry_ns, __u64 *retry_wait_ns, __u64 now_ns)
{
	if (now_ns < *retry_ns)
		return false;
	*retry_wait_ns *= 2;
	if (*retry_wait_ns > SESSION_RETRY_MAX_NS)
		*retry_wait_ns = SESSION_RETRY_MAX_NS;
	/* Not in step with others: where room is short, those who come last would be lost each
	 * time. */
	*retry_ns = now_ns + *retry_wait_ns - now_ns % (*retry_wait_ns / 2);
	return true;
}

/* Whether the outstanding request is to be sent again now; otherwise *wake_ns is when. */
static inline bool session_retry(struct session *session, __u64 now_ns, __u64 *wake_ns)
{
	bool due = session_due(&session->retry_ns, &session->retry_wait_ns, now_ns);

	*wake_ns = session->retry_ns;
	return due;
}

/* Wait no longer for the outstanding request; the next one follows. For protocols with
 * ExecutesAgain. */
static inline void session_give_up(struct session *session)
{
	session->given_up = session->request;
	session->given_up_sent_ns = session->first_sent_ns;
	session->has_given_up = true;
	session->given_up_is_next = true; /* the other one goes first */
	session->waiting = false;
}

/* What is to be sent again: in turn with the outstanding request, the one that was given up before
 * it. */
static inline const SESSION_MESSAGE *session_again(struct session *session)
{
	session->given_up_is_next = session->has_given_up && !session->given_up_is_next;
	return session->given_up_is_next ? &session->given_up : &session->request;
}

/* A new read of an open session; its other fields are in read->request already. */
static inline void session_read(const struct session *session, struct session_read *read, int kind,
				__u64 now_ns)
{
	read->request.kind = kind;
	read->request.client = session->request.client;
	read->request.secret = session->request.secret;
	read->request.sequence = (read->request.sequence + 1) % SESSION_SEQUENCE_MODULUS;
	read->waiting = true;
	read->first_sent_ns = now_ns;
	read->retry_wait_ns = SESSION_RETRY_MIN_NS;
	read->retry_ns = now_ns + read->retry_wait_ns;
}

/* As session_retry(). */
static inline bool session_read_retry(struct session_read *read, __u64 now_ns, __u64 *wake_ns)
{
	bool due = session_due(&read->retry_ns, &read->retry_wait_ns, now_ns);

	*wake_ns = read->retry_ns;
	return due;
}

/* Whether the message may be the answer to the read: the kind is the caller's to look at. */
static inline bool session_is_read_answer(const struct session_read *read,
					  const SESSION_MESSAGE *message)
{
	return read->waiting && message->client == read->request.client &&
	       message->sequence == read->request.sequence &&
	       memcmp(&message->secret, &read->request.secret, sizeof(message->secret)) == 0;
}

/*
 * Whether the message may be the answer to the outstanding request: the kind is the caller's to
 * look at. TooEarly is none: the tables are new, and what they will grant is asked for again like
 * what was lost.
 */
static inline bool session_is_answer(const struct session *session, const SESSION_MESSAGE *message)
{
	if (!session->waiting || message->sequence != session->request.sequence)
		return false;
	if (session->request.kind == SESSION_KIND(ASK) && message->kind == SESSION_KIND(INVITED))
		return true; /* to a number of the server's choice */
	if (message->client != session->request.client)
		return false;
	if (session->request.kind == SESSION_KIND(ASK) &&
	    message->kind == SESSION_KIND(OTHER_TERMS))
		load_refuse(
			"the server was built from another layout: its lease, its moduli or its messages are not those that this load was built with; build both from one generated/");
	if (session->request.kind == SESSION_KIND(OPEN))
		return message->kind == SESSION_KIND(OPENED) ||
		       message->kind == SESSION_KIND(TAKEN) ||
		       message->kind == SESSION_KIND(UNINVITED);
	return memcmp(&message->secret, &session->request.secret, sizeof(message->secret)) == 0;
}

/*
 * The outstanding request was answered. Returns false where the session is over (the answer came
 * after the lease that the client could count on), or is yet to be opened.
 */
static inline bool session_answered(struct session *session, const SESSION_MESSAGE *message,
				    __u64 now_ns)
{
	session->waiting = false;
	if (session_is_over(session, now_ns))
		return false;
	if (message->kind == SESSION_KIND(INVITED)) {
		session->invited = true;
		session->request.client = message->client;
		session->request.secret = message->secret;
		return false;
	}
	if (message->kind == SESSION_KIND(OPENED)) {
		session->open = true;
		session->request.secret = message->secret;
	}
	session->lease_end_ns = session->first_sent_ns + SESSION_LEASE_NS;
	return !session_is_over(session, now_ns);
}

#endif
