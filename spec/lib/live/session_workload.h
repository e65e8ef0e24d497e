/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The client's half of a session (SessionSteps.tla) for a protocol's workload.h. That file defines
 * these before it includes this one:
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
#define SESSION_OPEN_PATIENCE_NS 1000000000ull /* after this, another number is tried */

struct session {
	SESSION_MESSAGE request; /* the last one */
	bool open;
	bool invited;	/* request holds the number and the token to open it with */
	bool waiting;	/* for the answer to request */
	__u64 identity; /* of this session in the history, since numbers are reused */
	__u64 first_sent_ns;
	__u64 retry_ns; /* when to send it again */
	__u64 retry_wait_ns;
	__u64 lease_end_ns; /* the client's own: it starts at the first sending */

	/*
	 * The request before, if the client gave it up. Whether it was executed is unknown until
	 * this request is answered.
	 */
	SESSION_MESSAGE given_up;
	bool has_given_up;
	bool given_up_is_next; /* to be sent: the server may lack it, and takes requests in order */
	__u64 given_up_sent_ns;
};

/* A read is numbered separately, and may wait beside a request. */
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
 * Asks to be invited to a session of a random number, and says by which terms the client
 * understands what it is granted. A client that was invited opens that session instead, starting
 * after a random sequence number.
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

/* Whether the outstanding request is from a client that has no session yet. */
static inline bool session_is_opening(const struct session *session)
{
	return session->request.kind == SESSION_KIND(ASK) ||
	       session->request.kind == SESSION_KIND(OPEN);
}

/* Starts a new request of an open session. Its other fields are in session->request already. */
static inline void session_request(struct session *session, int kind, __u64 now_ns)
{
	session->request.kind = kind;
	session->request.sequence = (session->request.sequence + 1) % SESSION_SEQUENCE_MODULUS;
	session_send(session, now_ns);
}

/* Whether the client must stop relying on the session. */
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
	/*
	 * Break step with other clients: where room is short, the last ones of a burst would be
	 * lost each time.
	 */
	*retry_ns = now_ns + *retry_wait_ns - now_ns % (*retry_wait_ns / 2);
	return true;
}

/* Whether to send the outstanding request again now. If not, *wake_ns is when. */
static inline bool session_retry(struct session *session, __u64 now_ns, __u64 *wake_ns)
{
	bool due = session_due(&session->retry_ns, &session->retry_wait_ns, now_ns);

	*wake_ns = session->retry_ns;
	return due;
}

/*
 * Stops waiting for the outstanding request, so that the next one can follow. Only for protocols
 * with ExecutesAgain.
 */
static inline void session_give_up(struct session *session)
{
	session->given_up = session->request;
	session->given_up_sent_ns = session->first_sent_ns;
	session->has_given_up = true;
	session->given_up_is_next = true; /* session_again() toggles it first */
	session->waiting = false;
}

/* The message to send again: the outstanding request and the one given up before it, in turn. */
static inline const SESSION_MESSAGE *session_again(struct session *session)
{
	session->given_up_is_next = session->has_given_up && !session->given_up_is_next;
	return session->given_up_is_next ? &session->given_up : &session->request;
}

/* Starts a new read of an open session. Its other fields are in read->request already. */
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

/* Like session_retry(), for a read. */
static inline bool session_read_retry(struct session_read *read, __u64 now_ns, __u64 *wake_ns)
{
	bool due = session_due(&read->retry_ns, &read->retry_wait_ns, now_ns);

	*wake_ns = read->retry_ns;
	return due;
}

/* Whether the message may be the answer to the read. The caller checks the kind. */
static inline bool session_is_read_answer(const struct session_read *read,
					  const SESSION_MESSAGE *message)
{
	return read->waiting && message->client == read->request.client &&
	       message->sequence == read->request.sequence &&
	       memcmp(&message->secret, &read->request.secret, sizeof(message->secret)) == 0;
}

/*
 * Whether the message may be the answer to the outstanding request. The caller checks the kind.
 * TooEarly does not count as an answer: the tables are new, so the client retries as if the request
 * had been lost.
 */
static inline bool session_is_answer(const struct session *session, const SESSION_MESSAGE *message)
{
	if (!session->waiting || message->sequence != session->request.sequence)
		return false;
	if (session->request.kind == SESSION_KIND(ASK) && message->kind == SESSION_KIND(INVITED))
		return true; /* with a number that the server chose */
	if (message->client != session->request.client)
		return false;
	if (session->request.kind == SESSION_KIND(ASK) &&
	    message->kind == SESSION_KIND(OTHER_TERMS))
		load_refuse(
			"the server was built from another layout: its lease, its moduli or its messages differ from those of this load; build both from one generated/");
	if (session->request.kind == SESSION_KIND(OPEN))
		return message->kind == SESSION_KIND(OPENED) ||
		       message->kind == SESSION_KIND(TAKEN) ||
		       message->kind == SESSION_KIND(UNINVITED);
	return memcmp(&message->secret, &session->request.secret, sizeof(message->secret)) == 0;
}

/*
 * Takes the answer to the outstanding request. Returns false if the session is over (the answer
 * came after the lease that the client could count on) or is yet to be opened.
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
