/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Puts many clients on a server, over real UDP sockets, and records the answers to
 * each. load.c handles sockets and clocks. The protocol's workload, in
 * spec/<protocol>/live/workload.h, chooses the requests. It defines
 *
 *   struct workload_client            one client, zeroed before it starts
 *   struct workload                   the options, zeroed before they are read
 *   WORKLOAD_PORT, WORKLOAD_SIZE      UDP port, bytes of every message
 *   workload_options[]                names of the options, ended by {NULL}
 *   workload_start(), workload_next(), workload_answer(), workload_stop()
 *
 * A workload whose messages may be longer than WORKLOAD_SIZE also defines
 *
 *   WORKLOAD_SIZE_MAX                 bytes of the longest message
 *   workload_size()                   bytes of the message in a payload
 *   workload_is_whole()               whether an answer of so many bytes is complete
 *
 * A client has at most one request outstanding. The load sends it again until
 * it is answered or the workload gives up on it.
 */
#ifndef LOAD_H
#define LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

#define LOAD_NEVER (~0ull)

struct workload;
struct workload_client;

/* An option `NAME=VALUE` of the command line: a number, and where it goes. */
struct load_option {
	const char *name;
	const char *meaning;
	size_t offset;	 /* of a __u64 in struct workload */
	__u64 otherwise; /* its value if it is not given */
};

/* What a client does next. */
enum load_action {
	LOAD_SEND,   /* a new request is in the payload */
	LOAD_AGAIN,  /* the last request is in the payload, to be sent again */
	LOAD_WAIT,   /* nothing until the next answer, or load_client.wake_ns */
	LOAD_FINISH, /* nothing any more */
};

/* One operation of the history; the strings are constants of the workload. */
struct load_record {
	__u64 client;
	__u64 key;
	const char *operation;
	const char *argument; /* NULL: the amount */
	const char *outcome;  /* "-": none */
	__u64 call_ns;
	__u64 return_ns; /* or LOAD_NEVER */
	__u64 amount;
	__u64 detail; /* a number beside the outcome; 0: none */
};

/* Counts of one thread, added up at the end. */
struct load_counts {
	__u64 operations; /* answered requests of the protocol's own */
	__u64 refused;	  /* of these, answered with a refusal */
	__u64 retries;
	__u64 started;	     /* clients that started, successors included */
	__u64 timed_out;     /* clients that were over because no answer came in time */
	__u64 died;	     /* clients that were over on purpose */
	__u64 given_up;	     /* requests that a client no longer waits for */
	__u64 read_back;     /* reads after all else that were answered */
	__u64 read_back_due; /* reads after all else that were due */
	__u64 unserved;	     /* packets refused because nothing served them; counted by load.c */
	__u64 faults;	     /* packets lost, repeated or late; counted by load.c */
};

struct load_thread;

/* Adds to the history. Records that returned with an outcome count for the latency. */
void load_record(struct load_thread *thread, struct load_record record);

struct load_counts *load_counts(struct load_thread *thread);

/* A number below `limit`, and the next state of a seeded generator: splitmix64. */
static inline __u64 load_draw(__u64 *state, __u64 limit)
{
	__u64 mixed = *state += 0x9e3779b97f4a7c15ull;

	mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9ull;
	mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebull;
	mixed ^= mixed >> 31;
	return (__u64)((unsigned __int128)mixed * limit >> 64);
}

/* A number below `limit`, from the seeded generator of the client that moves. */
__u64 load_random(struct load_thread *thread, __u64 limit);

/* Stops the load: it and the server cannot understand each other, for this reason. */
_Noreturn void load_refuse(const char *reason);

/* A number that no other call gets, as an identity in the history. */
__u64 load_identity(void);

#endif
