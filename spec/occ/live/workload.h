/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Chooses what the clients of a load ask for: transactions of one to `keys_max` random keys, with
 * plain writes of the store in between, in a closed loop. Some clients die in the middle. When time
 * is over, the clients read back all keys in transactions that only read. The record is a history
 * of transactions: see docs/reference/transactions.md, transaction.h and harness/live/load.h.
 */
#ifndef OCC_WORKLOAD_H
#define OCC_WORKLOAD_H

#include "occ_codec.h"

#define SESSION_MESSAGE struct occ_message
#define SESSION_KIND(name) OCC_MESSAGE_KIND_##name
#define SESSION_CAPACITY OCC_CAPACITY_SESSION
#define SESSION_SEQUENCE_MODULUS OCC_SEQUENCE_MODULUS
#define SESSION_TERMS OCC_TERMS
/* This clock may be slower than the server's. */
#define SESSION_LEASE_NS ((__u64)OCC_LEASE * OCC_TICK_NS * 19 / 20)
#define STORE_FUNCTION(name) occ_##name
#define STORE_CONSTANT(name) OCC_##name
#define STORE_OPERATIONS_SIZE(payload) (occ_message_operations(payload) * OCC_OPERATION_SIZE)
#include "store_workload.h"
#include "transaction.h"
#include "workload_options.h"
#include "workload_requests.h"

static atomic_uint workload_writers;	  /* clients that may still write */
static atomic_ullong workload_founded;	  /* keys that were given their balance, or will be */
static atomic_ullong workload_read_back;  /* keys that a client has read back, or will */
static atomic_ullong workload_read_count; /* of these, how many were read */
static atomic_ullong workload_tidied;	  /* keys that a client has deleted, or will */
static atomic_ullong workload_balance;	  /* sum over the keys that were read back */

#define WORKLOAD_PAUSE_NS 5000000ull /* before locked keys are read once more */

/* Called for one client after the other. */
static inline void workload_start(const struct workload *options, struct load_thread *thread,
				  struct workload_client *client)
{
	(void)thread;
	if (options->keys_max < 1 || options->keys_max > TRANSACTION_KEYS_MAX ||
	    (options->balance && options->keys_max < 2)) {
		fprintf(stderr,
			"load: keys_max is %llu, and a transaction has 1 to %d keys, or 2 to move a balance\n",
			options->keys_max, TRANSACTION_KEYS_MAX);
		exit(1);
	}
	if (!store_keys)
		store_choose_keys(options->keys, options->crowd);
	client->founds = STORE_NO_KEY;
	workload_writers++;
}

/* Reads the same keys back once more: one was locked, or changed between the two readings. */
static inline void workload_read_back_again(struct workload_client *client, __u64 now_ns)
{
	struct transaction again = client->transaction;

	transaction_begin(&client->transaction, now_ns);
	for (unsigned int i = 0; i < again.count; i++)
		transaction_add(&client->transaction, again.accesses[i].key)->reads = true;
	client->pause_ns = now_ns + WORKLOAD_PAUSE_NS;
}

/* Ends the session in the history. Its messages may still arrive; the server settles its locks. */
static inline void workload_lose(struct load_thread *thread, struct workload_client *client)
{
	bool reads_back = client->settled && client->transaction.phase != TRANSACTION_NONE;

	transaction_lose(thread, &client->transaction);
	if (reads_back)
		workload_read_back_again(client, client->transaction.begun_ns);
	client->session.open = client->session.waiting = client->session.has_given_up = false;
	client->read.waiting = false;
}

/* --- The work of a transaction ---------------------------------------------------------------- */

/* Makes a new value. No two are the same. */
static inline void workload_fill(struct occ_message *written, unsigned int size)
{
	__u64 identity = load_identity();

	written->length = size;
	memset(&written->value, 0, sizeof(written->value));
	for (unsigned int i = 0; i < size && i < OCC_SLOT_SIZE; i++)
		written->value.bytes[i] = identity >> i % 8 * 8;
}

static inline unsigned int workload_choose_size(struct load_thread *thread)
{
	static const unsigned int sizes[] = { 8, OCC_SLOT_SIZE - 1, OCC_SLOT_SIZE };

	return sizes[load_random(thread, sizeof(sizes) / sizeof(*sizes))];
}

/* Chooses random keys, no two of them the same. */
static inline void workload_choose_keys(const struct workload *options, struct load_thread *thread,
					struct transaction *transaction, unsigned int count)
{
	while (transaction->count < count && transaction->count < options->keys) {
		__u64 key = store_keys[load_random(thread, options->keys)];

		if (!transaction_access(transaction, key))
			transaction_add(transaction, key);
	}
}

static inline void workload_begin(const struct workload *options, struct load_thread *thread,
				  struct workload_client *client, __u64 now_ns)
{
	struct transaction *transaction = &client->transaction;

	transaction_begin(transaction, now_ns);
	workload_choose_keys(options, thread, transaction,
			     options->balance ? 2 : 1 + load_random(thread, options->keys_max));
	for (unsigned int i = 0; i < transaction->count; i++) {
		struct access *access = &transaction->accesses[i];

		if (options->balance) {
			access->reads = access->writes = true;
			continue;
		}
		access->writes = load_random(thread, 100) < options->writes;
		access->reads = !access->writes || load_random(thread, 100) >= options->blind;
		access->written.deletes = access->writes &&
					  load_random(thread, 100) < options->churn;
		if (access->writes && !access->written.deletes)
			workload_fill(&access->written, workload_choose_size(thread));
	}
}

static inline void workload_begin_founding(struct workload_client *client, __u64 now_ns)
{
	transaction_begin(&client->transaction, now_ns);
	transaction_add(&client->transaction, client->founds);
	client->transaction.accesses[0].reads = client->transaction.accesses[0].writes = true;
}

static inline __u64 workload_balance_of(const struct occ_message *message)
{
	__u64 balance;

	memcpy(&balance, message->value.bytes + 8, sizeof(balance));
	return balance;
}

static inline void workload_write_balance(struct access *access, __u64 balance)
{
	workload_fill(&access->written, 16);
	memcpy(access->written.value.bytes + 8, &balance, sizeof(balance));
}

/* Decides what to write, once all is read. Returns whether there is something to write. */
static inline bool workload_decide(const struct workload *options, struct load_thread *thread,
				   struct workload_client *client)
{
	struct access *one = &client->transaction.accesses[0],
		      *other = &client->transaction.accesses[1];
	__u64 amount;

	if (!options->balance || !one->writes)
		return true;
	if (client->founds != STORE_NO_KEY) {
		workload_write_balance(one, options->balance);
		return !one->found;
	}
	if (!one->found || !other->found)
		return false;
	amount = load_random(thread, workload_balance_of(&one->was) + 1);
	workload_write_balance(one, workload_balance_of(&one->was) - amount);
	workload_write_balance(other, workload_balance_of(&other->was) + amount);
	return true;
}

/* --- Requests --------------------------------------------------------------------------------- */

static inline void workload_write_plainly(const struct workload *options,
					  struct load_thread *thread,
					  struct workload_client *client, __u64 now_ns)
{
	static const int kinds[] = { OCC_MESSAGE_KIND_INSERT, OCC_MESSAGE_KIND_UPDATE,
				     OCC_MESSAGE_KIND_UPDATE, OCC_MESSAGE_KIND_DELETE };
	int kind = kinds[load_random(thread, sizeof(kinds) / sizeof(*kinds))];
	unsigned int size =
		load_random(thread, 100) < options->long_values ?
			OCC_SLOT_SIZE + 1 + load_random(thread, OCC_VALUE_MAX - OCC_SLOT_SIZE) :
			workload_choose_size(thread);

	transaction_begin(&client->transaction, now_ns);
	workload_choose_keys(options, thread, &client->transaction, 1);
	if (kind != OCC_MESSAGE_KIND_DELETE)
		workload_fill(&client->transaction.accesses[0].written, size);
	workload_request_plainly(client, kind, now_ns);
}

/* Asks for what the transaction needs next. Returns false if the transaction is over. */
static inline bool workload_go_on(const struct workload *options, struct load_thread *thread,
				  struct workload_client *client, __u64 now_ns)
{
	struct transaction *transaction = &client->transaction;
	struct access *access;

	if (transaction->phase == TRANSACTION_READ && !transaction_next(transaction)) {
		if (!workload_decide(options, thread, client))
			transaction->phase = TRANSACTION_ABORT;
		else
			transaction->phase = TRANSACTION_LOCK;
	}
	if (transaction->phase == TRANSACTION_LOCK && !transaction_next(transaction))
		transaction->phase = TRANSACTION_VALIDATE;
	if (transaction->phase == TRANSACTION_VALIDATE && !transaction_next(transaction))
		transaction->phase = TRANSACTION_COMMIT;
	access = transaction_next(transaction);
	if (!access) {
		transaction_end(thread, transaction, now_ns);
		return false;
	}
	if (!workload_gather(options, client, now_ns))
		workload_ask_for(client, access, now_ns);
	return true;
}

/* --- When time is over ------------------------------------------------------------------------ */

/* Whether no client writes any more. */
static inline bool workload_all_settled(struct workload_client *client)
{
	if (!client->settled)
		workload_writers--;
	client->settled = true;
	return workload_writers == 0;
}

/*
 * Starts to read up to `keys_max` keys that nobody has read back. Returns false if there are none.
 */
static inline bool workload_begin_reading_back(const struct workload *options,
					       struct load_thread *thread,
					       struct workload_client *client, __u64 now_ns)
{
	transaction_begin(&client->transaction, now_ns);
	while (client->transaction.count < options->keys_max) {
		__u64 key = store_claim(options->keys, &workload_read_back);

		if (key == STORE_NO_KEY)
			break;
		transaction_add(&client->transaction, key)->reads = true;
		load_counts(thread)->read_back_due++;
	}
	if (!client->transaction.count)
		client->transaction.phase = TRANSACTION_NONE;
	return client->transaction.count;
}

/* Adds what was read back to the sum. After the last key it checks the sum. */
static inline void workload_note_read_back(const struct workload *options,
					   struct load_thread *thread,
					   const struct transaction *transaction)
{
	__u64 wanted = options->keys * options->balance;

	load_counts(thread)->read_back += transaction->count;
	for (unsigned int i = 0; i < transaction->count; i++)
		workload_balance += transaction->accesses[i].found ?
					    workload_balance_of(&transaction->accesses[i].was) :
					    0;
	if ((workload_read_count += transaction->count) == options->keys && options->balance &&
	    workload_balance != wanted) {
		fprintf(stderr,
			"load: %llu keys have %llu together in the end, but should have %llu\n",
			options->keys, (__u64)workload_balance, wanted);
		exit(1);
	}
}

/* Deletes the next key, once all are read. Returns false if all have been deleted. */
static inline bool workload_tidy(const struct workload *options, struct workload_client *client,
				 __u64 now_ns)
{
	__u64 key = store_claim(options->tidy ? options->keys : 0, &workload_tidied);

	if (key == STORE_NO_KEY)
		return false;
	transaction_begin(&client->transaction, now_ns);
	transaction_add(&client->transaction, key);
	workload_request_plainly(client, OCC_MESSAGE_KIND_DELETE, now_ns);
	return true;
}

/*
 * Once no client writes any more, the clients read all keys, delete them if `tidy` is set, and
 * close their sessions.
 */
static inline enum load_action workload_wind_up(const struct workload *options,
						struct load_thread *thread,
						struct workload_client *client, __u64 now_ns,
						__u64 *wake_ns)
{
	*wake_ns = now_ns + 1000000;
	if (client->session.has_given_up) { /* an answer to a later request settles it */
		session_request(&client->session, OCC_MESSAGE_KIND_RENEW, now_ns);
		return LOAD_SEND;
	}
	if (!workload_all_settled(client))
		return LOAD_WAIT;
	if (workload_begin_reading_back(options, thread, client, now_ns))
		workload_go_on(options, thread, client, now_ns);
	else if (workload_read_count < options->keys)
		return LOAD_WAIT;
	else if (!workload_tidy(options, client, now_ns))
		session_request(&client->session, OCC_MESSAGE_KIND_CLOSE, now_ns);
	return LOAD_SEND;
}

/* --- A client's next step --------------------------------------------------------------------- */

/* Starts the next thing that an open session without a transaction does. */
static inline void workload_ask_anything(const struct workload *options, struct load_thread *thread,
					 struct workload_client *client, __u64 now_ns)
{
	if (options->balance && client->founds == STORE_NO_KEY)
		client->founds = store_claim(options->keys, &workload_founded);
	if (client->founds != STORE_NO_KEY)
		workload_begin_founding(client, now_ns);
	else if (!options->balance && load_random(thread, 100) < options->plain)
		return workload_write_plainly(options, thread, client, now_ns);
	else
		workload_begin(options, thread, client, now_ns);
	workload_go_on(options, thread, client, now_ns);
}

/* Chooses the next request of an open session. */
static inline enum load_action workload_ask(const struct workload *options,
					    struct load_thread *thread,
					    struct workload_client *client, __u64 now_ns,
					    bool stopping, __u64 *wake_ns)
{
	struct transaction *transaction = &client->transaction;

	if (client->session.lease_end_ns - now_ns < SESSION_LEASE_NS / 2) { /* no get extends it */
		session_request(&client->session, OCC_MESSAGE_KIND_RENEW, now_ns);
		return LOAD_SEND;
	}
	if (now_ns < client->pause_ns) {
		*wake_ns = client->pause_ns;
		return LOAD_WAIT;
	}
	if (transaction->phase != TRANSACTION_NONE) {
		if (stopping && !client->settled && client->founds == STORE_NO_KEY &&
		    transaction->phase < TRANSACTION_COMMIT)
			transaction->phase = TRANSACTION_ABORT;
		if (workload_go_on(options, thread, client, now_ns))
			return LOAD_SEND;
		if (client->settled && transaction->aborted) {
			workload_read_back_again(client, now_ns);
			*wake_ns = client->pause_ns;
			return LOAD_WAIT;
		}
		if (client->settled)
			workload_note_read_back(options, thread, transaction);
		else if (!transaction->aborted || transaction->accesses[0].found)
			client->founds = STORE_NO_KEY;
	}
	if (stopping && (!options->balance || workload_founded >= options->keys) &&
	    client->founds == STORE_NO_KEY)
		return workload_wind_up(options, thread, client, now_ns, wake_ns);
	workload_ask_anything(options, thread, client, now_ns);
	client->impatient = !client->session.has_given_up &&
			    load_random(thread, 100) < options->impatient;
	return LOAD_SEND;
}

/*
 * Gives up the outstanding request. A reading or a lock that is given up ends the transaction; a
 * commit or an abort is sent again.
 */
static inline void workload_give_up(struct load_thread *thread, struct workload_client *client)
{
	struct transaction *transaction = &client->transaction;

	load_counts(thread)->given_up++;
	if (!client->read.waiting)
		session_give_up(&client->session);
	client->read.waiting = client->impatient = false;
	transaction->given_up = true;
	if (transaction->phase == TRANSACTION_PLAIN)
		transaction_lose(thread, transaction);
	else if (transaction->phase < TRANSACTION_COMMIT)
		transaction->phase = TRANSACTION_ABORT;
}

/* Returns the outstanding message to send again, or NULL if it is not yet due or was given up. */
static inline const struct occ_message *workload_again(struct load_thread *thread,
						       struct workload_client *client, __u64 now_ns,
						       bool stopping, __u64 *wake_ns)
{
	struct session *session = &client->session;
	bool due = client->read.waiting ? session_read_retry(&client->read, now_ns, wake_ns) :
					  session_retry(session, now_ns, wake_ns);

	if (!due)
		return NULL;
	if (client->impatient && !stopping && client->transaction.phase != TRANSACTION_NONE &&
	    !workload_is_several(client->read.waiting ? &client->read.request :
							&session->request)) {
		workload_give_up(thread, client);
		return NULL;
	}
	return client->read.waiting ? &client->read.request : session_again(session);
}

static inline bool workload_dies(const struct workload *options, struct load_thread *thread,
				 const struct workload_client *client)
{
	return options->deaths && !client->settled &&
	       client->transaction.phase > TRANSACTION_READ &&
	       client->transaction.phase != TRANSACTION_PLAIN &&
	       load_random(thread, 10000) < options->deaths;
}

static inline void workload_end_sessions(const struct workload *options, struct load_thread *thread,
					 struct workload_client *client, __u64 now_ns)
{
	struct session *session = &client->session;

	if (session_is_over(session, now_ns)) {
		load_counts(thread)->timed_out++;
		workload_lose(thread, client);
	} else if (session->open && !session->waiting && !client->read.waiting &&
		   workload_dies(options, thread, client)) {
		load_counts(thread)->died++;
		workload_lose(thread, client);
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
	const struct occ_message *message = NULL;
	enum load_action action = LOAD_SEND;

	workload_end_sessions(options, thread, client, now_ns);
	if (session->waiting || client->read.waiting) {
		message = workload_again(thread, client, now_ns, stopping, wake_ns);
		action = message ? LOAD_AGAIN : LOAD_WAIT;
	}
	if (!session->waiting && !client->read.waiting) {
		if (session->open) {
			action = workload_ask(options, thread, client, now_ns, stopping, wake_ns);
		} else if (stopping && workload_all_settled(client) &&
			   client->transaction.phase == TRANSACTION_NONE &&
			   workload_read_back >= options->keys) {
			return LOAD_FINISH;
		} else {
			session_open(thread, session, now_ns);
			/* The numbers of reads and of requests are never compared. */
			client->read.request.sequence = session->request.sequence;
			action = LOAD_SEND;
		}
	}
	if (action == LOAD_WAIT)
		return action;
	if (!message)
		message = client->read.waiting ? &client->read.request : &session->request;
	workload_encode(client, payload, message);
	return action;
}

/* --- Answers ---------------------------------------------------------------------------------- */

static inline void workload_answered(struct load_thread *thread, struct workload_client *client,
				     const struct occ_message *message,
				     const unsigned char *payload, __u64 now_ns)
{
	struct session *session = &client->session;
	const int asked = session->request.kind;
	const bool was_opening = session_is_opening(session);

	session->has_given_up = false;
	if (asked == OCC_MESSAGE_KIND_CLOSE) {
		session->open = session->waiting = false;
		return;
	}
	session_answered(session, message, now_ns);
	if (was_opening) {
		load_counts(thread)->started += session->open;
		return;
	}
	if (asked == OCC_MESSAGE_KIND_RENEW)
		return;
	if (asked == OCC_MESSAGE_KIND_GATHER) {
		workload_take_all(thread, client, message, payload, session->first_sent_ns, now_ns);
		return;
	}
	workload_take(thread, client, client->transaction.phase, session->request.place, message,
		      session->first_sent_ns, now_ns);
	if (client->transaction.phase == TRANSACTION_PLAIN)
		transaction_end_plain(thread, &client->transaction, now_ns);
}

/* Returns whether the datagram is the answer that the client waited for. */
static inline bool workload_answer(const struct workload *options, struct load_thread *thread,
				   struct workload_client *client, __u64 now_ns,
				   const unsigned char *payload)
{
	struct session *session = &client->session;
	struct occ_message message;

	(void)options;
	if (!occ_message_decode(payload, &message))
		return false;
	if (workload_is_reading(message.kind)) {
		if (!session_is_read_answer(&client->read, &message) ||
		    !workload_fits(client, &client->read.request, &message, payload))
			return false;
		client->read.waiting = false;
		if (message.kind == OCC_MESSAGE_KIND_FETCHED)
			workload_take_all(thread, client, &message, payload,
					  client->read.first_sent_ns, now_ns);
		else
			workload_take_reading(thread, client, client->transaction.phase, &message,
					      store_digest(payload), client->read.first_sent_ns,
					      now_ns);
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
