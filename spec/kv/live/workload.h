/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Chooses what the clients of a load ask a store for: each gets and writes random keys, one or
 * several at once, in a closed loop. When time is over they read every key once more, so that the
 * history ends with the final state, and may delete all keys. See harness/live/load.h.
 */
#ifndef KV_WORKLOAD_H
#define KV_WORKLOAD_H

#include "kv_codec.h"

#define SESSION_MESSAGE struct kv_message
#define SESSION_KIND(name) KV_MESSAGE_KIND_##name
#define SESSION_CAPACITY KV_CAPACITY_SESSION
#define SESSION_SEQUENCE_MODULUS KV_SEQUENCE_MODULUS
#define SESSION_TERMS KV_TERMS
#define SESSION_LEASE_NS \
	((__u64)KV_LEASE * KV_TICK_NS * 19 / 20) /* this clock may be slower than the server's */
#define STORE_FUNCTION(name) kv_##name
#define STORE_CONSTANT(name) KV_##name
#define STORE_OPERATIONS_SIZE(payload) (kv_message_operations(payload) * KV_OPERATION_SIZE)
#include "store_workload.h"
#include "workload_kinds.h"

struct workload {
	__u64 keys, crowd, gets, churn, long_values, too_long, impatient, tidy, gather;
};

static const struct load_option workload_options[] = {
	{ "keys", "keys to choose from", offsetof(struct workload, keys), 1024 },
	{ "crowd", "keys that share a bucket, on average; 0: as many as it happens",
	  offsetof(struct workload, crowd), 0 },
	{ "gets", "percentage of operations that are gets", offsetof(struct workload, gets), 80 },
	{ "churn", "percentage of writes that insert or delete; the others update",
	  offsetof(struct workload, churn), 0 },
	{ "long", "percentage of writes with a value that is longer than a slot",
	  offsetof(struct workload, long_values), 0 },
	{ "too_long", "percentage of writes with one that is too long",
	  offsetof(struct workload, too_long), 0 },
	{ "impatient", "percentage of requests that are given up at their first retry",
	  offsetof(struct workload, impatient), 0 },
	{ "tidy", "1: in the end all keys are deleted", offsetof(struct workload, tidy), 0 },
	{ "gather", "operations in a message, at most", offsetof(struct workload, gather), 1 },
	{ NULL },
};

struct workload_client {
	struct session session;
	struct session_read read;
	__u64 missing;	  /* the key to insert next, or STORE_NO_KEY */
	bool impatient;	  /* will give up the outstanding request */
	bool settled;	  /* time is over and it has no write left to do */
	__u64 reads_back; /* the key to read now that time is over, or STORE_NO_KEY */
	struct kv_message operations[KV_OPERATIONS_MAX]; /* of what is outstanding, if it has any */
	unsigned int alone_count;			 /* operations to ask for alone */
	struct kv_message alone[KV_OPERATIONS_MAX];
};

static atomic_uint workload_writers;	 /* clients that may still write */
static atomic_ullong workload_read_back; /* keys that a client has read back, or will */
static atomic_ullong workload_tidied;	 /* keys that a client has deleted, or will */

/* Called for one client after the other. */
static inline void workload_start(const struct workload *options, struct load_thread *thread,
				  struct workload_client *client)
{
	(void)thread;
	if (!store_keys)
		store_choose_keys(options->keys, options->crowd);
	client->missing = client->reads_back = STORE_NO_KEY;
	workload_writers++;
}

/*
 * Makes a new value. Its length is at either end of what fits into a slot, or one byte inside, or
 * anything longer. No two values of eight bytes or more are the same.
 */
static inline void workload_fill(const struct workload *options, struct load_thread *thread,
				 struct kv_message *request)
{
	static const unsigned int lengths[] = { 0, 1, KV_SLOT_SIZE - 1, KV_SLOT_SIZE };
	__u64 identity = load_identity();
	unsigned int size;

	request->length = lengths[load_random(thread, sizeof(lengths) / sizeof(*lengths))];
	if (load_random(thread, 100) < options->long_values)
		request->length =
			KV_SLOT_SIZE + 1 + load_random(thread, KV_VALUE_MAX - KV_SLOT_SIZE);
	if (load_random(thread, 100) < options->too_long)
		request->length = KV_VALUE_MAX + 1 + load_random(thread, 100);
	size = request->length < KV_SLOT_SIZE ? request->length : KV_SLOT_SIZE;
	memset(&request->value, 0, sizeof(request->value));
	for (unsigned int i = 0; i < size; i++)
		request->value.bytes[i] = identity >> i % 8 * 8;
}

/* Records an unanswered write: executed between its call and `return_ns`, or not at all. */
static inline void workload_note_open(struct load_thread *thread, const struct session *session,
				      const struct kv_message *request, __u64 call_ns,
				      __u64 return_ns)
{
	if (!workload_is_write(request) || request->length > KV_VALUE_MAX)
		return;
	load_record(thread,
		    (struct load_record){ session->identity, request->key,
					  workload_operation(request->kind), NULL, "-", call_ns,
					  return_ns, store_digest_of(request), 0 });
}

/* Ends the session in the history. Its messages may still arrive at the server. */
static inline void workload_lose(struct load_thread *thread, struct workload_client *client)
{
	struct session *session = &client->session;

	const bool several = workload_has_operations(&session->request);
	const struct kv_message *asked = several ? client->operations : &session->request;
	const unsigned int count = several ? session->request.count : 1;

	for (unsigned int i = 0; session->waiting && i < count; i++)
		workload_note_open(thread, session, &asked[i], session->first_sent_ns, LOAD_NEVER);
	client->alone_count = 0;
	if (session->has_given_up)
		workload_note_open(thread, session, &session->given_up, session->given_up_sent_ns,
				   LOAD_NEVER);
	session->open = session->waiting = session->has_given_up = false;
	client->read.waiting = false;
}

/* Starts a request that is not for one key, or for one that is chosen already. */
static inline void workload_request(struct workload_client *client, const struct kv_message *asked,
				    __u64 now_ns)
{
	struct kv_message *request = &client->session.request;

	request->key = asked->key;
	request->length = asked->length;
	request->value = asked->value;
	request->count = asked->count;
	session_request(&client->session, asked->kind, now_ns);
}

static inline void workload_delete(struct workload_client *client, __u64 key, __u64 now_ns)
{
	const struct kv_message asked = { .kind = KV_MESSAGE_KIND_DELETE, .key = key };

	workload_request(client, &asked, now_ns);
}

/* Chooses a write. */
static inline void workload_choose_write(const struct workload *options, struct load_thread *thread,
					 struct workload_client *client, struct kv_message *asked)
{
	asked->kind = KV_MESSAGE_KIND_UPDATE;
	asked->key = store_keys[load_random(thread, options->keys)];
	if (client->missing != STORE_NO_KEY) {
		asked->key = client->missing;
		asked->kind = KV_MESSAGE_KIND_INSERT;
		client->missing = STORE_NO_KEY;
	} else if (load_random(thread, 100) < options->churn) {
		asked->kind = load_random(thread, 2) ? KV_MESSAGE_KIND_INSERT :
						       KV_MESSAGE_KIND_DELETE;
	}
	if (asked->kind != KV_MESSAGE_KIND_DELETE)
		workload_fill(options, thread, asked);
}

/* Starts a get, of one key or of several. */
static inline void workload_read(struct workload_client *client, const struct kv_message *asked,
				 __u64 now_ns)
{
	client->read.request.key = asked->key;
	client->read.request.count = asked->count;
	session_read(&client->session, &client->read, asked->kind, now_ns);
}

static inline void workload_get(struct workload_client *client, __u64 key, __u64 now_ns)
{
	const struct kv_message asked = { .kind = KV_MESSAGE_KIND_GET, .key = key };

	workload_read(client, &asked, now_ns);
}

/* Starts what an operation asks for by itself. */
static inline void workload_ask_for(struct workload_client *client, const struct kv_message *asked,
				    __u64 now_ns)
{
	if (asked->kind == KV_MESSAGE_KIND_GET)
		workload_read(client, asked, now_ns);
	else
		workload_request(client, asked, now_ns);
}

/* Call when time is over. Whether no client writes any more. */
static inline bool workload_all_settled(struct workload_client *client)
{
	if (!client->settled)
		workload_writers--;
	client->settled = true;
	return workload_writers == 0;
}

/*
 * Call when time is over. Once no client writes any more, the clients read all keys, delete them if
 * `tidy` is set, and close their sessions.
 */
static inline enum load_action workload_wind_up(const struct workload *options,
						struct load_thread *thread,
						struct workload_client *client, __u64 now_ns,
						__u64 *wake_ns)
{
	__u64 key;

	if (client->session.has_given_up) { /* an answer to a later request settles it */
		session_request(&client->session, KV_MESSAGE_KIND_RENEW, now_ns);
		return LOAD_SEND;
	}
	if (!workload_all_settled(client)) {
		*wake_ns = now_ns + 1000000;
		return LOAD_WAIT;
	}
	if (client->reads_back == STORE_NO_KEY) {
		client->reads_back = store_claim(options->keys, &workload_read_back);
		load_counts(thread)->read_back_due += client->reads_back != STORE_NO_KEY;
	}
	key = client->reads_back;
	if (key != STORE_NO_KEY) {
		workload_get(client, key, now_ns);
		return LOAD_SEND;
	}
	if (options->tidy)
		key = store_claim(options->keys, &workload_tidied);
	if (key != STORE_NO_KEY)
		workload_delete(client, key, now_ns);
	else
		session_request(&client->session, KV_MESSAGE_KIND_CLOSE, now_ns);
	return LOAD_SEND;
}

/* Chooses a get or a write of a random key. */
static inline void workload_choose(const struct workload *options, struct load_thread *thread,
				   struct workload_client *client, struct kv_message *asked)
{
	*asked = (struct kv_message){ .kind = KV_MESSAGE_KIND_GET };
	if (client->missing != STORE_NO_KEY || load_random(thread, 100) >= options->gets)
		workload_choose_write(options, thread, client, asked);
	else
		asked->key = store_keys[load_random(thread, options->keys)];
}

/* Gathers several gets and writes. If all are gets, they are a read. */
static inline void workload_gather(const struct workload *options, struct load_thread *thread,
				   struct workload_client *client, __u64 now_ns)
{
	const __u64 most = options->gather < KV_OPERATIONS_MAX ? options->gather :
								 KV_OPERATIONS_MAX;
	struct kv_message asked = { .kind = KV_MESSAGE_KIND_FETCH,
				    .count = 1 + load_random(thread, most) };

	for (unsigned int i = 0; i < asked.count; i++) {
		workload_choose(options, thread, client, &client->operations[i]);
		if (client->operations[i].kind != KV_MESSAGE_KIND_GET)
			asked.kind = KV_MESSAGE_KIND_GATHER;
	}
	if (asked.kind == KV_MESSAGE_KIND_FETCH)
		workload_read(client, &asked, now_ns);
	else
		workload_request(client, &asked, now_ns);
}

/* Starts a get or a write of a random key, or several. */
static inline void workload_ask_anything(const struct workload *options, struct load_thread *thread,
					 struct workload_client *client, __u64 now_ns)
{
	struct kv_message asked;

	client->impatient = false;
	if (client->alone_count) {
		asked = client->alone[--client->alone_count];
	} else if (options->gather > 1) {
		workload_gather(options, thread, client, now_ns);
		return;
	} else {
		workload_choose(options, thread, client, &asked);
	}
	client->impatient = (asked.kind == KV_MESSAGE_KIND_GET || !client->session.has_given_up) &&
			    load_random(thread, 100) < options->impatient;
	workload_ask_for(client, &asked, now_ns);
}

/* Returns the outstanding message to send again, or NULL if it is not yet due. */
static inline const struct kv_message *workload_again(const struct workload *options,
						      struct load_thread *thread,
						      struct workload_client *client, __u64 now_ns,
						      bool stopping, __u64 *wake_ns)
{
	struct session *session = &client->session;

	bool due = client->read.waiting ? session_read_retry(&client->read, now_ns, wake_ns) :
					  session_retry(session, now_ns, wake_ns);

	if (!due)
		return NULL;
	if (client->impatient && !stopping) {
		client->impatient = false;
		load_counts(thread)->given_up++;
		if (!client->read.waiting)
			session_give_up(session);
		client->read.waiting = false;
		workload_ask_anything(options, thread, client, now_ns);
	}
	return client->read.waiting ? &client->read.request : session_again(session);
}

/* Chooses the next request of an open session. */
static inline enum load_action workload_ask(const struct workload *options,
					    struct load_thread *thread,
					    struct workload_client *client, __u64 now_ns,
					    bool stopping, __u64 *wake_ns)
{
	if (client->session.lease_end_ns - now_ns < SESSION_LEASE_NS / 2) /* no get extends it */
		session_request(&client->session, KV_MESSAGE_KIND_RENEW, now_ns);
	else if (stopping)
		return workload_wind_up(options, thread, client, now_ns, wake_ns);
	else
		workload_ask_anything(options, thread, client, now_ns);
	return LOAD_SEND;
}

static inline void workload_encode(const struct workload_client *client, unsigned char *payload,
				   const struct kv_message *message)
{
	store_encode(payload, message);
	for (unsigned int i = 0; workload_has_operations(message) && i < message->count; i++)
		kv_operation_encode(payload + KV_WIRE_SIZE + i * KV_OPERATION_SIZE,
				    &client->operations[i]);
}

static inline enum load_action workload_next(const struct workload *options,
					     struct load_thread *thread,
					     struct workload_client *client, __u64 now_ns,
					     bool stopping, unsigned char *payload, __u64 *wake_ns)
{
	struct session *session = &client->session;
	const struct kv_message *message = NULL;
	enum load_action action = LOAD_SEND;

	if (session_is_over(session, now_ns)) {
		load_counts(thread)->timed_out++;
		workload_lose(thread, client);
	}
	if (session->waiting && session_is_opening(session) &&
	    now_ns - session->first_sent_ns > SESSION_OPEN_PATIENCE_NS)
		session->waiting = false;
	if (session->waiting || client->read.waiting) {
		message = workload_again(options, thread, client, now_ns, stopping, wake_ns);
		action = message ? LOAD_AGAIN : LOAD_WAIT;
	} else if (session->open) {
		action = workload_ask(options, thread, client, now_ns, stopping, wake_ns);
	} else if (stopping && workload_all_settled(client) && client->reads_back == STORE_NO_KEY &&
		   workload_read_back >= options->keys) {
		return LOAD_FINISH;
	} else {
		session_open(thread, session, now_ns);
		/* The numbers of reads and of requests are never compared. */
		client->read.request.sequence = session->request.sequence;
	}
	if (!message)
		message = client->read.waiting ? &client->read.request : &session->request;
	if (action != LOAD_WAIT)
		workload_encode(client, payload, message);
	return action;
}

static inline void workload_count(struct load_thread *thread, struct workload_client *client,
				  enum kv_message_kind outcome)
{
	struct load_counts *counts = load_counts(thread);

	if (client->reads_back != STORE_NO_KEY) {
		client->reads_back = STORE_NO_KEY;
		counts->read_back++;
		return;
	}
	if (client->settled)
		return;
	counts->operations++;
	counts->refused += outcome == KV_MESSAGE_KIND_EXISTS || outcome == KV_MESSAGE_KIND_ABSENT ||
			   outcome == KV_MESSAGE_KIND_NO_ROOM ||
			   outcome == KV_MESSAGE_KIND_TOO_LONG;
}

/* Records the answer to a get or a write in the history. `digest` is that of the answer's value. */
static inline void workload_note(struct load_thread *thread, struct workload_client *client,
				 const struct kv_message *request, const struct kv_message *message,
				 __u64 digest, __u64 call_ns, __u64 now_ns)
{
	__u64 version = workload_has_version(message->kind) ? message->version : 0;
	bool found = message->kind == KV_MESSAGE_KIND_VALUE;

	workload_count(thread, client, message->kind);
	load_record(thread,
		    (struct load_record){ client->session.identity, request->key,
					  workload_operation(request->kind), NULL,
					  workload_outcome(message->kind), call_ns, now_ns,
					  found ? digest : store_digest_of(request), version });
	if (message->kind == KV_MESSAGE_KIND_MISSING || message->kind == KV_MESSAGE_KIND_ABSENT)
		client->missing = request->kind == KV_MESSAGE_KIND_DELETE ? STORE_NO_KEY :
									    request->key;
}

/* Records the answers to several, and which are to be asked for alone. */
static inline void workload_note_all(struct load_thread *thread, struct workload_client *client,
				     const struct kv_message *message, const unsigned char *payload,
				     __u64 call_ns, __u64 now_ns)
{
	for (unsigned int i = 0; i < message->count; i++) {
		const struct kv_message *asked = &client->operations[i];
		struct kv_message done = *message;

		kv_operation_decode(payload + KV_WIRE_SIZE + i * KV_OPERATION_SIZE, &done);
		if (done.kind == asked->kind)
			client->alone[client->alone_count++] = *asked;
		else
			workload_note(thread, client, asked, &done, store_digest_of(&done), call_ns,
				      now_ns);
	}
}

/* Returns true if an answer has an outcome for each operation, or leaves it to be asked for alone.
 */
static inline bool workload_has_outcomes(const struct workload_client *client,
					 const struct kv_message *request,
					 const struct kv_message *message,
					 const unsigned char *payload)
{
	if (message->count != request->count)
		return false;
	for (unsigned int i = 0; i < message->count; i++) {
		const struct kv_message *asked = &client->operations[i];
		struct kv_message done = *message;

		if (!kv_operation_decode(payload + KV_WIRE_SIZE + i * KV_OPERATION_SIZE, &done) ||
		    !(workload_is_outcome(asked, &done) ||
		      (done.kind == asked->kind && done.key == asked->key)))
			return false;
	}
	return true;
}

static inline bool workload_fits(const struct workload_client *client,
				 const struct kv_message *request, const struct kv_message *message,
				 const unsigned char *payload)
{
	switch (request->kind) {
	case KV_MESSAGE_KIND_ASK:
	case KV_MESSAGE_KIND_OPEN:
		return true;
	case KV_MESSAGE_KIND_RENEW:
		return message->kind == KV_MESSAGE_KIND_RENEWED;
	case KV_MESSAGE_KIND_CLOSE:
		return message->kind == KV_MESSAGE_KIND_CLOSED;
	case KV_MESSAGE_KIND_GATHER:
		return message->kind == KV_MESSAGE_KIND_GATHERED &&
		       workload_has_outcomes(client, request, message, payload);
	case KV_MESSAGE_KIND_FETCH:
		return message->kind == KV_MESSAGE_KIND_FETCHED &&
		       workload_has_outcomes(client, request, message, payload);
	default:
		return workload_is_outcome(request, message);
	}
}

static inline void workload_answered(struct load_thread *thread, struct workload_client *client,
				     const struct kv_message *message, const unsigned char *payload,
				     __u64 now_ns)
{
	struct session *session = &client->session;
	struct kv_message request = session->request;

	if (session->has_given_up) /* executed before this request, or never */
		workload_note_open(thread, session, &session->given_up, session->given_up_sent_ns,
				   now_ns);
	session->has_given_up = false;
	if (request.kind == KV_MESSAGE_KIND_CLOSE) {
		session->open = session->waiting = false;
		return;
	}
	session_answered(session, message, now_ns);
	if (request.kind == KV_MESSAGE_KIND_OPEN)
		load_counts(thread)->started += session->open;
	else if (workload_has_operations(&request))
		workload_note_all(thread, client, message, payload, session->first_sent_ns, now_ns);
	else if (workload_is_write(&request))
		workload_note(thread, client, &request, message, store_digest(payload),
			      session->first_sent_ns, now_ns);
}

/* Returns whether the datagram is the answer that the client waited for. */
static inline bool workload_answer(const struct workload *options, struct load_thread *thread,
				   struct workload_client *client, __u64 now_ns,
				   const unsigned char *payload)
{
	struct session *session = &client->session;
	struct kv_message message;

	(void)options;
	if (!kv_message_decode(payload, &message))
		return false;
	if (message.kind == KV_MESSAGE_KIND_VALUE || message.kind == KV_MESSAGE_KIND_MISSING ||
	    message.kind == KV_MESSAGE_KIND_FETCHED) {
		if (!session_is_read_answer(&client->read, &message) ||
		    !workload_fits(client, &client->read.request, &message, payload))
			return false;
		client->read.waiting = false;
		if (workload_has_operations(&client->read.request))
			workload_note_all(thread, client, &message, payload,
					  client->read.first_sent_ns, now_ns);
		else
			workload_note(thread, client, &client->read.request, &message,
				      store_digest(payload), client->read.first_sent_ns, now_ns);
		return true;
	}
	if (!session_is_answer(session, &message) ||
	    !workload_fits(client, &session->request, &message, payload))
		return false;
	if (session->open && session_is_over(session, now_ns))
		return true; /* too late: left waiting until workload_next() ends the session */
	workload_answered(thread, client, &message, payload, now_ns);
	return true;
}

/* Ends the load for a client, even if it still waits. */
static inline void workload_stop(const struct workload *options, struct load_thread *thread,
				 struct workload_client *client, __u64 now_ns)
{
	(void)now_ns;
	while (store_claim(options->keys, &workload_read_back) != STORE_NO_KEY)
		load_counts(thread)->read_back_due++;
	workload_lose(thread, client);
}

#endif
