/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The client of a load of transactions, and what it asks for: a key, or several at once. For
 * workload.h.
 */
#ifndef OCC_WORKLOAD_REQUESTS_H
#define OCC_WORKLOAD_REQUESTS_H

#include "store_workload.h"
#include "transaction.h"
#include "workload_options.h"

struct workload_client {
	struct session session;
	struct session_read read;
	struct transaction transaction;
	bool impatient; /* will give up the outstanding request */
	bool settled;	/* time is over and it writes no more */
	__u64 founds;	/* the key to give its balance, or STORE_NO_KEY */
	__u64 pause_ns; /* it does nothing before this time */
	/* What is outstanding, if it has operations, and the accesses that they are for. */
	struct occ_message operations[TRANSACTION_KEYS_MAX];
	struct access *asked[TRANSACTION_KEYS_MAX];
};

static inline void workload_get(struct workload_client *client, __u64 key, __u64 now_ns)
{
	client->read.request.key = key;
	session_read(&client->session, &client->read, OCC_MESSAGE_KIND_GET, now_ns);
}

/* Writes the fields of a write, lock, commit or abort of this access. */
static inline void workload_set_request(const struct workload_client *client,
					struct occ_message *request, const struct access *access,
					enum occ_message_kind kind)
{
	request->kind = kind;
	request->place = access - client->transaction.accesses;
	request->key = access->key;
	request->version = kind == OCC_MESSAGE_KIND_LOCK ? access->version : 0;
	request->deletes = access->written.deletes;
	request->length = access->written.length;
	request->value = access->written.value;
}

/* Starts a write, lock, commit or abort of this access. */
static inline void workload_request(struct workload_client *client, const struct access *access,
				    int kind, __u64 now_ns)
{
	workload_set_request(client, &client->session.request, access, kind);
	client->session.request.count = 0;
	session_request(&client->session, kind, now_ns);
}

/* Starts a write of the store, of one key. In the history it is a transaction of its own. */
static inline void workload_request_plainly(struct workload_client *client, int kind, __u64 now_ns)
{
	struct access *access = &client->transaction.accesses[0];

	client->transaction.phase = TRANSACTION_PLAIN;
	access->writes = access->commits = true;
	access->written.deletes = kind == OCC_MESSAGE_KIND_DELETE;
	workload_request(client, access, kind, now_ns);
}

/* Starts what the transaction needs of this access next. */
static inline void workload_ask_for(struct workload_client *client, struct access *access,
				    __u64 now_ns)
{
	const struct transaction *transaction = &client->transaction;

	transaction_mark(transaction, access);
	if (transaction_reads(transaction->phase))
		workload_get(client, access->key, now_ns);
	else
		workload_request(client, access, transaction_kind(transaction->phase), now_ns);
}

/* --- Several at once -------------------------------------------------------------------------- */

static inline bool workload_is_several(const struct occ_message *request)
{
	return request->kind == OCC_MESSAGE_KIND_FETCH || request->kind == OCC_MESSAGE_KIND_GATHER;
}

/*
 * Starts what the transaction needs of several accesses, all at once. Returns false if there are
 * not two of them. An access that was left alone is not asked for with others again.
 */
static inline bool workload_gather(const struct workload *options, struct workload_client *client,
				   __u64 now_ns)
{
	struct transaction *transaction = &client->transaction;
	const enum occ_message_kind kind = transaction_kind(transaction->phase);
	unsigned int count = 0;

	for (unsigned int i = 0; i < transaction->count && count < options->gather; i++)
		if (transaction_needs(transaction, &transaction->accesses[i]) &&
		    transaction->accesses[i].alone != transaction->phase)
			client->asked[count++] = &transaction->accesses[i];
	if (count < 2)
		return false;
	for (unsigned int i = 0; i < count; i++) {
		client->operations[i] = (struct occ_message){ 0 };
		workload_set_request(client, &client->operations[i], client->asked[i], kind);
		transaction_mark(transaction, client->asked[i]);
	}
	if (transaction_reads(transaction->phase)) {
		client->read.request.count = count;
		session_read(&client->session, &client->read, OCC_MESSAGE_KIND_FETCH, now_ns);
	} else {
		client->session.request.count = count;
		client->session.request.length = 0;
		session_request(&client->session, OCC_MESSAGE_KIND_GATHER, now_ns);
	}
	return true;
}

static inline void workload_encode(const struct workload_client *client, unsigned char *payload,
				   const struct occ_message *message)
{
	store_encode(payload, message);
	for (unsigned int i = 0; workload_is_several(message) && i < message->count; i++)
		occ_operation_encode(payload + OCC_WIRE_SIZE + i * OCC_OPERATION_SIZE,
				     &client->operations[i]);
}

/* --- Answers ---------------------------------------------------------------------------------- */

static inline bool workload_is_reading(enum occ_message_kind kind)
{
	return kind == OCC_MESSAGE_KIND_VALUE || kind == OCC_MESSAGE_KIND_MISSING ||
	       kind == OCC_MESSAGE_KIND_FETCHED;
}

/* Whether an answer, or an operation of one, belongs to what was asked for. */
static inline bool workload_is_outcome(const struct occ_message *asked,
				       const struct occ_message *done)
{
	if (done->key != asked->key)
		return false;
	return asked->kind == OCC_MESSAGE_KIND_GET ? workload_is_reading(done->kind) :
						     transaction_is_answer(done->kind);
}

/* Whether an answer has an outcome for each operation, or leaves it to be asked for alone. */
static inline bool workload_has_outcomes(const struct workload_client *client,
					 const struct occ_message *request,
					 const struct occ_message *message,
					 const unsigned char *payload)
{
	if (message->count != request->count)
		return false;
	for (unsigned int i = 0; i < message->count; i++) {
		const struct occ_message *asked = &client->operations[i];
		struct occ_message done = *message;

		if (!occ_operation_decode(payload + OCC_WIRE_SIZE + i * OCC_OPERATION_SIZE,
					  &done) ||
		    done.place != asked->place ||
		    !(workload_is_outcome(asked, &done) ||
		      (done.kind == asked->kind && done.key == asked->key)))
			return false;
	}
	return true;
}

static inline bool workload_fits(const struct workload_client *client,
				 const struct occ_message *request,
				 const struct occ_message *message, const unsigned char *payload)
{
	switch (request->kind) {
	case OCC_MESSAGE_KIND_ASK:
	case OCC_MESSAGE_KIND_OPEN:
		return true;
	case OCC_MESSAGE_KIND_RENEW:
		return message->kind == OCC_MESSAGE_KIND_RENEWED;
	case OCC_MESSAGE_KIND_CLOSE:
		return message->kind == OCC_MESSAGE_KIND_CLOSED;
	case OCC_MESSAGE_KIND_GATHER:
		return message->kind == OCC_MESSAGE_KIND_GATHERED &&
		       workload_has_outcomes(client, request, message, payload);
	case OCC_MESSAGE_KIND_FETCH:
		return message->kind == OCC_MESSAGE_KIND_FETCHED &&
		       workload_has_outcomes(client, request, message, payload);
	default:
		return workload_is_outcome(request, message);
	}
}

/* Takes an answer. phase: that of the request, since its first operation may have ended that. */
static inline void workload_take(struct load_thread *thread, struct workload_client *client,
				 enum transaction_phase phase, unsigned int place,
				 const struct occ_message *message, __u64 call_ns, __u64 now_ns)
{
	load_counts(thread)->operations += !client->settled;
	load_counts(thread)->refused += !client->settled &
					!transaction_take(thread, &client->transaction, phase,
							  place, message, call_ns, now_ns);
}

static inline void workload_take_reading(struct load_thread *thread, struct workload_client *client,
					 enum transaction_phase phase,
					 const struct occ_message *message, __u64 digest,
					 __u64 call_ns, __u64 now_ns)
{
	load_counts(thread)->operations += !client->settled;
	transaction_take_reading(thread, &client->transaction, phase, message, digest, call_ns,
				 now_ns);
}

/* Takes the outcomes of several operations. */
static inline void workload_take_all(struct load_thread *thread, struct workload_client *client,
				     const struct occ_message *message,
				     const unsigned char *payload, __u64 call_ns, __u64 now_ns)
{
	const enum transaction_phase phase = client->transaction.phase;

	for (unsigned int i = 0; i < message->count; i++) {
		struct occ_message done = *message;

		occ_operation_decode(payload + OCC_WIRE_SIZE + i * OCC_OPERATION_SIZE, &done);
		if (done.kind == client->operations[i].kind)
			client->asked[i]->alone = phase;
		else if (transaction_reads(phase))
			workload_take_reading(thread, client, phase, &done, store_digest_of(&done),
					      call_ns, now_ns);
		else
			workload_take(thread, client, phase, done.place, &done, call_ns, now_ns);
	}
}

#endif
