/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Everything that the daemon knows about a protocol. generated/<protocol>/<protocol>_user.c fills
 * it in.
 */
#ifndef STEPWISE_H
#define STEPWISE_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

#include "stepwise_addresses.h"
#include "stepwise_drain.h"
#include "stepwise_seed.h"

enum stepwise_verdict {
	STEPWISE_CONTINUE,
	STEPWISE_REPLY,
	STEPWISE_FORWARD,
	STEPWISE_DROP,
	/* Only on_forwarded returns it. Drops the message; later it may get an answer. */
	STEPWISE_AGAIN,
};

/*
 * Inputs of a step in userspace, beside the tables and the message. Only on_forwarded uses
 * `age_ns`, `peer`, `token` and `validated`. Only run_xdp and run_tc use `cpu`.
 */
struct stepwise_environment {
	__u64 now_ns;	/* CLOCK_MONOTONIC, the clock of bpf_ktime_get_ns() */
	__u64 random;	/* from getrandom() */
	__u64 age_ns;	/* since the tables were made */
	__u64 peer;	/* number of the network that the message came from */
	__u64 token;	/* a new one, made for the sender's address */
	bool validated; /* the message shows such a token: see token_at */
	__u32 cpu;	/* that the step runs on */
};

/* Truncates a value for a field of the environment that stays at its greatest value. */
static inline __u32 stepwise_at_most(__u64 value, __u32 most)
{
	return value < most ? (__u32)value : most;
}

/* How the user hook accesses a table. */
enum stepwise_user_reads {
	STEPWISE_USER_READS_NOTHING,
	STEPWISE_USER_READS_CELL, /* reads one cell, by stepwise_read_cell() */
	/* Reads the whole table in memory. The table is mmapable. */
	STEPWISE_USER_READS_TABLE,
	/* Steps one cell, by stepwise_cell(). The table is mmapable. */
	STEPWISE_USER_STEPS,
};

struct stepwise_table {
	const char *name;   /* of the map and of its pin */
	__u32 capacity;	    /* number of elements */
	__u32 element_size; /* in bytes; value size of the map and stride of the array */
	bool mmapable;	    /* elements of other tables hold a guard */
	__u32 guard_offset; /* in bytes, from the start of the element */
	enum stepwise_user_reads user_reads;
};

/* How userspace accesses the tables. A table's number is its index in stepwise_protocol.tables. */
struct stepwise_tables {
	/* `capacity` elements for each table; NULL if the table cannot be accessed as memory. */
	void *const *memory;
	bool (*read_cell)(const struct stepwise_tables *tables, unsigned int table, __u32 index,
			  void *element);
	void *(*cell)(const struct stepwise_tables *tables, unsigned int table, __u32 index);
};

/*
 * Copies one element, `element_size` bytes, as it was at one moment; its guard is zero in the copy.
 * Returns false if the element could not be read, or if the index is out of range. The caller of
 * on_forwarded learns by this call which cell a decision depends on. So a user step on one cell
 * must read it only here.
 */
static inline bool stepwise_read_cell(const struct stepwise_tables *tables, unsigned int table,
				      __u32 index, void *element)
{
	return tables->read_cell(tables, table, index, element);
}

/*
 * Returns one element in place, or NULL if the index is out of range. Only for a user step that
 * writes (STEPWISE_USER_STEPS). The caller of on_forwarded learns of it, as of a cell that is read.
 *
 * A word is shared with the programs, so it must be changed by compare-and-swap. Any other cell
 * belongs to userspace alone, or to its owner. The caller may use it until on_forwarded returns.
 */
static inline void *stepwise_cell(const struct stepwise_tables *tables, unsigned int table,
				  __u32 index)
{
	return tables->cell(tables, table, index);
}

/* One pass of the sweep: the daemon test-runs a program over chunks of a table. */
struct stepwise_pass {
	const char *program;
	__u32 table; /* index into stepwise_protocol.tables */
};

/* A field of a cell, which a row fills in. */
struct stepwise_row_field {
	const char *name;
	__u32 offset;
	__u32 size;
	bool bytes; /* opaque bytes; else an integer in this machine's byte order */
};

#define STEPWISE_ROW_FIELD(type, member, opaque) \
	{ .name = #member,                       \
	  .offset = offsetof(type, member),      \
	  .size = sizeof(((type *)0)->member),   \
	  .bytes = (opaque) }
#define STEPWISE_ROW_INTEGER(type, member) STEPWISE_ROW_FIELD(type, member, false)
#define STEPWISE_ROW_BYTES(type, member) STEPWISE_ROW_FIELD(type, member, true)

/* How recovered rows get into the tables: as cells of one table. Then a program runs over these. */
struct stepwise_restore {
	struct stepwise_pass pass;
	const struct stepwise_row_field *fields; /* the fields that a row brings */
	__u32 field_count;
	void (*complete)(void *row); /* fills in the other fields */
	/* The outcome of the row, an index into `fates`; 0 at first. */
	struct stepwise_row_field fate;
	const char *const *fates;
	__u32 fate_count;
	__u32 done; /* a bit for each fate that counts as success */
};

struct stepwise_protocol {
	const char *name;
	__u16 port; /* UDP, host order */
	/* Bytes of every message on the wire, without the tail. */
	__u16 wire_size;
	__u16 tail_max;	       /* maximum bytes of a tail; 0 if no message has one */
	__u32 sweep_size;      /* bytes of the protocol's struct that is passed through a sweep */
	__u32 sweep_period_ms; /* 0 if there is no sweep */
	/* The programs serve only packets to this host's addresses, and must know these. */
	bool compares_addresses;
	__u64 layout_id; /* hash of everything that pinned maps depend on */
	/* Seed of the steps below, which must be set before they run; NULL if nothing is hashed. */
	struct stepwise_seed *seed;
	/* Tables of this age and more are old for every step; 0 if no step reads the age. */
	__u64 young_ns;
	bool tells_peers; /* a step reads the peer or a token */
	/*
	 * Hash of the terms that clients rely on, which is part of a token; 0 if no step reads one.
	 */
	__u64 terms;
	bool takes_tokens; /* clients show tokens */
	__u16 token_at;	   /* offset of the 8-byte token in a message */

	const struct stepwise_table *tables;
	__u32 table_count;

	/* Names. The map `counters` holds one __u64 per CPU for each. */
	const char *const *counters;
	__u32 counter_count;

	const struct stepwise_pass *passes;
	__u32 pass_count;

	const struct stepwise_restore *restore; /* NULL if no rows are restored */

	const char *xdp_program;
	const char *tc_program;	      /* NULL if nothing is completed */
	const char *ahead_program;    /* NULL if no cells are read ahead */
	const char *gathered_program; /* NULL if no messages have operations */

	/*
	 * The rare path: decides on one forwarded message. It accesses each table as user_reads
	 * says. NULL if nothing is forwarded.
	 *
	 * Rewrites the payload and returns STEPWISE_REPLY, or leaves it and returns STEPWISE_AGAIN
	 * or STEPWISE_DROP. Also drops a payload that does not decode, and a message whose cell
	 * could not be read.
	 *
	 * `payload` has room for wire_size + tail_max bytes. `size` is at first the size of the
	 * message, at least wire_size and at most that room, and afterwards the size of the reply.
	 */
	enum stepwise_verdict (*on_forwarded)(const struct stepwise_tables *tables,
					      const struct stepwise_environment *environment,
					      unsigned char *payload, size_t *size);

	/*
	 * The sections of the hooks xdp and tc as plain functions, over ordinary memory. Each table
	 * is capacity * element_size zeroed bytes, which several threads share: here, too, cells
	 * are changed by compare-and-swap or under their guards. The kernel-UDP server of the
	 * benchmark consists of these functions. run_tc is NULL if nothing is completed.
	 *
	 * They return STEPWISE_REPLY, STEPWISE_FORWARD (the payload is then unchanged but for the
	 * fields of `handover` and `forwards`) or STEPWISE_DROP, also for a payload that does not
	 * decode. `payload` and `size` are as above. A tail stays as it is.
	 */
	enum stepwise_verdict (*run_xdp)(const struct stepwise_tables *tables,
					 const struct stepwise_environment *environment,
					 unsigned char *payload, size_t *size);
	enum stepwise_verdict (*run_tc)(const struct stepwise_tables *tables,
					const struct stepwise_environment *environment,
					unsigned char *payload, size_t *size);

	const struct stepwise_drain *drain;	  /* NULL if nothing is drained to files */
	const struct stepwise_recovery *recovery; /* NULL if nothing is recovered from them */

	/* Returns the compiled BPF object, from the libbpf skeleton. */
	const void *(*object)(size_t *size);
};

extern const struct stepwise_protocol stepwise_protocol;

#endif
