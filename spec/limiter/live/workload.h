/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Chooses what the clients of a load ask a limiter for: random amounts of random keys, in a closed
 * loop. See harness/live/load.h.
 */
#ifndef LIMITER_WORKLOAD_H
#define LIMITER_WORKLOAD_H

#include <string.h>

#include "limiter_codec.h"
#include "load.h"

#define WORKLOAD_PORT LIMITER_PORT
#define WORKLOAD_SIZE LIMITER_WIRE_SIZE
#define WORKLOAD_RETRY_NS 10000000ull

struct workload {
	__u64 keys, amount;
};

static const struct load_option workload_options[] = {
	{ "keys", "keys to choose from", offsetof(struct workload, keys), 1000 },
	{ "amount", "most tokens that are asked for at once", offsetof(struct workload, amount),
	  20 },
	{ NULL },
};

struct workload_client {
	struct limiter_message request;
	bool waiting;
	__u64 identity;
	__u64 first_sent_ns;
	__u64 retry_ns;
};

static inline void workload_start(const struct workload *options, struct load_thread *thread,
				  struct workload_client *client)
{
	(void)options;
	memset(client, 0, sizeof(*client));
	client->identity = load_identity();
	load_counts(thread)->started++;
}

static inline enum load_action workload_next(const struct workload *options,
					     struct load_thread *thread,
					     struct workload_client *client, __u64 now_ns,
					     bool stopping, unsigned char *payload, __u64 *wake_ns)
{
	enum load_action action = LOAD_AGAIN;

	if (stopping)
		return LOAD_FINISH;
	*wake_ns = client->retry_ns;
	if (client->waiting && now_ns < client->retry_ns)
		return LOAD_WAIT;
	if (!client->waiting) {
		client->request.kind = LIMITER_MESSAGE_KIND_TAKE;
		client->request.key = load_random(thread, options->keys);
		client->request.amount = 1 + load_random(thread, options->amount);
		client->first_sent_ns = now_ns;
		client->waiting = true;
		action = LOAD_SEND;
	}
	*wake_ns = client->retry_ns = now_ns + WORKLOAD_RETRY_NS;
	limiter_message_encode(payload, &client->request);
	return action;
}

/*
 * Takes an answer. Requests have no number, so an answer to an earlier request with the same amount
 * and key counts as this one's, and is as good.
 */
static inline bool workload_answer(const struct workload *options, struct load_thread *thread,
				   struct workload_client *client, __u64 now_ns,
				   const unsigned char *payload)
{
	struct limiter_message message;
	bool allowed;

	(void)options;
	if (!limiter_message_decode(payload, &message) || !client->waiting ||
	    message.kind == LIMITER_MESSAGE_KIND_TAKE || message.key != client->request.key ||
	    message.amount != client->request.amount)
		return false;
	allowed = message.kind == LIMITER_MESSAGE_KIND_ALLOWED;
	client->waiting = false;
	load_counts(thread)->operations++;
	load_counts(thread)->refused += !allowed;
	load_record(thread,
		    (struct load_record){ client->identity, message.key, "take", NULL,
					  allowed ? "Allowed" : "Denied", client->first_sent_ns,
					  now_ns, message.amount, 0 });
	return true;
}

static inline void workload_stop(const struct workload *options, struct load_thread *thread,
				 struct workload_client *client, __u64 now_ns)
{
	(void)options, (void)thread, (void)client, (void)now_ns;
}

#endif
