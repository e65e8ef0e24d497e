/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The client's half of a transaction, for workload.h, after store_workload.h. It tracks what the
 * transaction has read, locked and committed, and records that in the history.
 */
#ifndef OCC_TRANSACTION_H
#define OCC_TRANSACTION_H

#include "store_workload.h"

#define TRANSACTION_KEYS_MAX 4

_Static_assert(TRANSACTION_KEYS_MAX <= OCC_INTENTS,
	       "each key that is written has a place of its own");

enum transaction_phase {
	TRANSACTION_NONE,
	TRANSACTION_READ,
	TRANSACTION_LOCK,
	TRANSACTION_VALIDATE,
	TRANSACTION_COMMIT,
	TRANSACTION_ABORT,
	TRANSACTION_PLAIN, /* one write of the store; the server sees no transaction */
};

/* A key, what to do with it, and what has been done. */
struct access {
	__u64 key;
	bool reads, writes;
	struct occ_message written; /* value, length, deletes */

	bool was_read, found, locked;
	struct occ_message was; /* the answer to the read */
	__u32 version;		/* for its lock: 0 if the key is not there */

	bool validated;
	bool asked;	  /* for a lock, which may exist */
	bool asked_again; /* with the version from a conflict */
	bool granted;
	bool commits; /* a commit was sent, so it may be written */
	bool told;    /* the answer confirmed the write */
	bool settled; /* the place is free again */

	enum transaction_phase alone; /* the phase in which it was left to be asked for alone */
};

struct transaction {
	enum transaction_phase phase;
	bool aborted;	/* the last transaction */
	bool given_up;	/* a request, which may have been executed */
	__u64 identity; /* in the history */
	__u64 begun_ns;
	unsigned int count;
	struct access accesses[TRANSACTION_KEYS_MAX];
};

static inline void transaction_begin(struct transaction *transaction, __u64 now_ns)
{
	memset(transaction, 0, sizeof(*transaction));
	transaction->phase = TRANSACTION_READ;
	transaction->identity = load_identity();
	transaction->begun_ns = now_ns;
}

static inline struct access *transaction_add(struct transaction *transaction, __u64 key)
{
	struct access *access = &transaction->accesses[transaction->count++];

	access->key = key;
	return access;
}

static inline struct access *transaction_access(struct transaction *transaction, __u64 key)
{
	for (unsigned int i = 0; i < transaction->count; i++)
		if (transaction->accesses[i].key == key)
			return &transaction->accesses[i];
	return NULL;
}

/*
 * Whether the readings must be repeated. A single reading of an unlocked key is of one moment and
 * need not be.
 */
static inline bool transaction_validates(const struct transaction *transaction)
{
	return transaction->count > 1 || transaction->accesses[0].locked;
}

static inline bool transaction_needs(const struct transaction *transaction,
				     const struct access *access)
{
	switch (transaction->phase) {
	case TRANSACTION_READ:
		return access->reads && !access->was_read;
	case TRANSACTION_LOCK:
		return access->writes && !access->granted;
	case TRANSACTION_VALIDATE:
		return access->reads && !access->writes && !access->validated &&
		       transaction_validates(transaction);
	case TRANSACTION_COMMIT:
		return access->writes && !access->settled;
	case TRANSACTION_ABORT:
		return access->asked && !access->settled;
	default:
		return false;
	}
}

static inline bool transaction_reads(enum transaction_phase phase)
{
	return phase == TRANSACTION_READ || phase == TRANSACTION_VALIDATE;
}

/* The kind of request that a phase asks for a key with. */
static inline enum occ_message_kind transaction_kind(enum transaction_phase phase)
{
	switch (phase) {
	case TRANSACTION_READ:
	case TRANSACTION_VALIDATE:
		return OCC_MESSAGE_KIND_GET;
	case TRANSACTION_LOCK:
		return OCC_MESSAGE_KIND_LOCK;
	case TRANSACTION_COMMIT:
		return OCC_MESSAGE_KIND_COMMIT;
	default:
		return OCC_MESSAGE_KIND_ABORT;
	}
}

/* Marks an access that is about to be asked for. */
static inline void transaction_mark(const struct transaction *transaction, struct access *access)
{
	access->asked |= transaction->phase == TRANSACTION_LOCK;
	access->commits |= transaction->phase == TRANSACTION_COMMIT;
}

/* Returns the next access that the phase has to deal with, or NULL if it is done. */
static inline struct access *transaction_next(struct transaction *transaction)
{
	for (unsigned int i = 0; i < transaction->count; i++)
		if (transaction_needs(transaction, &transaction->accesses[i]))
			return &transaction->accesses[i];
	return NULL;
}

/* --- The record of it ------------------------------------------------------------------------- */

/* Records one operation. The digest stands for the value; NULL: there is no value. */
static inline void transaction_record(struct load_thread *thread,
				      const struct transaction *transaction, __u64 key,
				      const char *operation, const __u64 *digest,
				      const char *outcome, __u64 version, __u64 call_ns,
				      __u64 return_ns)
{
	load_record(thread, (struct load_record){ transaction->identity, key, operation,
						  digest ? NULL : "-", outcome, call_ns, return_ns,
						  digest ? *digest : 0, version });
}

/*
 * Records the writes without a confirmed outcome. Whether a value was written shows when somebody
 * reads it.
 */
static inline void transaction_record_writes(struct load_thread *thread,
					     const struct transaction *transaction)
{
	for (unsigned int i = 0; i < transaction->count; i++) {
		const struct access *access = &transaction->accesses[i];
		const __u64 digest = store_digest_of(&access->written);

		if (!access->writes || access->told ||
		    !(access->granted || transaction->phase == TRANSACTION_PLAIN))
			continue;
		transaction_record(thread, transaction, access->key,
				   access->written.deletes ? "delete" : "write",
				   access->written.deletes ? NULL : &digest, "-", 0,
				   transaction->begun_ns, LOAD_NEVER);
	}
}

static inline void transaction_over(struct load_thread *thread, struct transaction *transaction,
				    const char *outcome, __u64 return_ns)
{
	transaction_record_writes(thread, transaction);
	transaction_record(thread, transaction, 0, "end", NULL, outcome, 0, transaction->begun_ns,
			   return_ns);
	transaction->aborted = strcmp(outcome, "Aborted") == 0;
	transaction->phase = TRANSACTION_NONE;
}

/* Ends a transaction with nothing left to do. */
static inline void transaction_end(struct load_thread *thread, struct transaction *transaction,
				   __u64 now_ns)
{
	transaction_over(thread, transaction,
			 transaction->phase == TRANSACTION_ABORT ? "Aborted" : "Committed", now_ns);
}

/* Gives up a transaction. Its outcome is unknown, unless no commit was sent: then it is aborted. */
static inline void transaction_lose(struct load_thread *thread, struct transaction *transaction)
{
	bool commits = false;

	if (transaction->phase == TRANSACTION_NONE)
		return;
	for (unsigned int i = 0; i < transaction->count; i++)
		commits |= transaction->accesses[i].commits;
	transaction_over(thread, transaction, commits ? "-" : "Aborted",
			 commits ? LOAD_NEVER : transaction->begun_ns);
}

/* Ends a plain write. A write that changed nothing is not recorded. */
static inline void transaction_end_plain(struct load_thread *thread,
					 struct transaction *transaction, __u64 now_ns)
{
	if (transaction->accesses[0].told)
		transaction_over(thread, transaction, "Committed", now_ns);
	transaction->phase = TRANSACTION_NONE;
}

/* --- Answers ---------------------------------------------------------------------------------- */

static inline bool transaction_is_answer(enum occ_message_kind kind)
{
	return (kind >= OCC_MESSAGE_KIND_INSERTED && kind <= OCC_MESSAGE_KIND_TOO_LONG) ||
	       kind >= OCC_MESSAGE_KIND_LOCKED;
}

static inline void transaction_take_reading(struct load_thread *thread,
					    struct transaction *transaction,
					    enum transaction_phase phase,
					    const struct occ_message *message, __u64 digest,
					    __u64 call_ns, __u64 now_ns)
{
	struct access *access = transaction_access(transaction, message->key);
	const bool found = message->kind == OCC_MESSAGE_KIND_VALUE;

	if (phase == TRANSACTION_VALIDATE) {
		access->validated = !message->locked && found == access->found &&
				    message->version == access->was.version;
		if (!access->validated)
			transaction->phase = TRANSACTION_ABORT;
		return;
	}
	access->was_read = true;
	access->found = found;
	access->locked = message->locked;
	access->was = *message;
	access->version = found ? message->version : 0;
	/*
	 * A key that is missing both when it is read and when it is locked may have come and gone
	 * in between, since a lock does not compare the floor. That changes nothing for the
	 * transaction: its reading holds for the state that it locked. So such a reading is not
	 * recorded.
	 */
	if (access->writes && !found)
		return;
	transaction_record(thread, transaction, access->key, "read", found ? &digest : NULL,
			   found ? "Value" : "Missing", message->version, call_ns, now_ns);
}

static inline bool transaction_take_lock(struct load_thread *thread,
					 struct transaction *transaction, struct access *access,
					 const struct occ_message *message, __u64 call_ns,
					 __u64 now_ns)
{
	if (message->kind == OCC_MESSAGE_KIND_GRANTED) {
		access->granted = true;
		transaction_record(thread, transaction, access->key, "lock", NULL, "Granted",
				   message->version, call_ns, now_ns);
		return true;
	}
	if (message->kind == OCC_MESSAGE_KIND_CONFLICT && !access->reads && !access->asked_again &&
	    message->version != access->version) {
		access->asked_again = true;
		access->version = message->version;
		return true;
	}
	access->asked = false;
	transaction->phase = TRANSACTION_ABORT;
	return false;
}

/*
 * Takes the answer to a commit. A granted lock can always be committed, so a refusal means that a
 * request that was given up has been executed.
 */
static inline bool transaction_take_commit(struct load_thread *thread,
					   struct transaction *transaction, struct access *access,
					   const struct occ_message *message, __u64 call_ns,
					   __u64 now_ns)
{
	const __u64 digest = store_digest_of(&access->written);

	access->settled = true;
	if (message->kind != OCC_MESSAGE_KIND_COMMITTED) {
		if (!transaction->given_up) {
			fprintf(stderr,
				"load: key %llu was locked by transaction %llu, and its commit was refused\n",
				access->key, transaction->identity);
			exit(1);
		}
		return true;
	}
	access->told = true;
	if (!access->written.deletes)
		transaction_record(thread, transaction, access->key, "write", &digest, "Committed",
				   message->version, call_ns, now_ns);
	else if (access->version)
		transaction_record(thread, transaction, access->key, "delete", NULL, "Committed",
				   message->version, call_ns, now_ns);
	return true;
}

static inline bool transaction_take_plain(struct load_thread *thread,
					  struct transaction *transaction, struct access *access,
					  const struct occ_message *message, __u64 call_ns,
					  __u64 now_ns)
{
	const __u64 digest = store_digest_of(&access->written);

	access->told = message->kind == OCC_MESSAGE_KIND_INSERTED ||
		       message->kind == OCC_MESSAGE_KIND_UPDATED ||
		       message->kind == OCC_MESSAGE_KIND_DELETED;
	if (access->told)
		transaction_record(thread, transaction, access->key,
				   access->written.deletes ? "delete" : "write",
				   access->written.deletes ? NULL : &digest, "Committed",
				   message->version, call_ns, now_ns);
	return access->told;
}

/*
 * Takes the answer to a request for this place, which was asked for in this phase. Returns false if
 * the request was not carried out.
 */
static inline bool transaction_take(struct load_thread *thread, struct transaction *transaction,
				    enum transaction_phase phase, unsigned int place,
				    const struct occ_message *message, __u64 call_ns, __u64 now_ns)
{
	struct access *access = &transaction->accesses[place];

	switch (phase) {
	case TRANSACTION_PLAIN:
		return transaction_take_plain(thread, transaction, access, message, call_ns,
					      now_ns);
	case TRANSACTION_LOCK:
		return transaction_take_lock(thread, transaction, access, message, call_ns, now_ns);
	case TRANSACTION_COMMIT:
		return transaction_take_commit(thread, transaction, access, message, call_ns,
					       now_ns);
	default:
		access->settled = true;
		return true;
	}
}

#endif
