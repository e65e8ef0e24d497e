/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What a generated protocol tells the daemon about itself. The daemon knows
 * nothing else of a protocol; generated/<protocol>/<protocol>_user.c fills this in.
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
	STEPWISE_AGAIN, /* of on_forwarded alone: to be dropped, but if it were served later it may
			   be answered */
};

/* What a step sees in userspace beside the tables and the message. */
struct stepwise_environment {
	__u64 now_ns; /* CLOCK_MONOTONIC, the clock of bpf_ktime_get_ns() */
	__u64 random; /* from getrandom() */
	__u64 age_ns; /* since the tables were made; of on_forwarded alone, like `peer`, `token` and
			 `validated` */
	__u64 peer;   /* a number for the network that the message came from */
	__u64 token;  /* a new one, made for the address that it came from */
	bool validated; /* whether the message shows such a token: see token_at */
	__u32 cpu;	/* that it runs on; of run_xdp and run_tc alone */
};

/* For a field of the steps' environment that stays at its greatest value. */
static inline __u32 stepwise_at_most(__u64 value, __u32 most)
{
	return value < most ? (__u32)value : most;
}

/* What the user hook reads of a table, or writes. */
enum stepwise_user_reads {
	STEPWISE_USER_READS_NOTHING,
	STEPWISE_USER_READS_CELL,  /* one, by stepwise_read_cell() */
	STEPWISE_USER_READS_TABLE, /* the whole of it in memory; only of a mmapable one */
	STEPWISE_USER_STEPS, /* one cell is stepped, by stepwise_cell(); only of a mmapable one */
};

struct stepwise_table {
	const char *name;   /* of the map and of its pin */
	__u32 capacity;	    /* elements */
	__u32 element_size; /* bytes; value size of the map and stride of the array */
	bool mmapable;	    /* the elements of others hold a guard */
	__u32 guard_offset; /* bytes from the element's begin */
	enum stepwise_user_reads user_reads;
};

/* The tables as userspace has them, by their number in stepwise_protocol.tables. */
struct stepwise_tables {
	void *const *memory; /* `capacity` elements each; NULL where a table is not to be had as
				memory */
	bool (*read_cell)(const struct stepwise_tables *tables, unsigned int table, __u32 index,
			  void *element);
	void *(*cell)(const struct stepwise_tables *tables, unsigned int table, __u32 index);
};

/*
 * Copies one element, `element_size` bytes, as it was at one moment (its guard is zero in
 * the copy). False where it could not be read, also for an index that is out of range.
 * Whoever calls on_forwarded learns from it which cell a decision rests on: a user step
 * on one cell reads it here and nowhere else.
 */
static inline bool stepwise_read_cell(const struct stepwise_tables *tables, unsigned int table,
				      __u32 index, void *element)
{
	return tables->read_cell(tables, table, index, element);
}

/*
 * One element, where it lies: for a user step that writes it, and no other (STEPWISE_USER_STEPS).
 * NULL for an index that is out of range. Whoever calls on_forwarded learns of it like of a cell
 * that is read. A word is shared with the programs, and is stepped by compare-and-swap; what only
 * userspace has, or nobody else at that time, is its caller's until on_forwarded returns.
 */
static inline void *stepwise_cell(const struct stepwise_tables *tables, unsigned int table,
				  __u32 index)
{
	return tables->cell(tables, table, index);
}

/* One pass of the sweep: a program that is test-run over chunks of a table. */
struct stepwise_pass {
	const char *program;
	__u32 table; /* index into stepwise_protocol.tables */
};

/* A field of a cell that a row fills in. */
struct stepwise_row_field {
	const char *name;
	__u32 offset;
	__u32 size;
	bool bytes; /* opaque; an integer otherwise, as this machine has it */
};

#define STEPWISE_ROW_FIELD(type, member, opaque) \
	{ .name = #member,                       \
	  .offset = offsetof(type, member),      \
	  .size = sizeof(((type *)0)->member),   \
	  .bytes = (opaque) }
#define STEPWISE_ROW_INTEGER(type, member) STEPWISE_ROW_FIELD(type, member, false)
#define STEPWISE_ROW_BYTES(type, member) STEPWISE_ROW_FIELD(type, member, true)

/* How rows that were recovered get into the tables: as cells of one of them, over which a program
 * is run. */
struct stepwise_restore {
	struct stepwise_pass pass;
	const struct stepwise_row_field *fields; /* that a row comes with */
	__u32 field_count;
	void (*complete)(void *row);	/* fills in the others */
	struct stepwise_row_field fate; /* what became of the row, an index into `fates`; 0 before
					 */
	const char *const *fates;
	__u32 fate_count;
	__u32 done; /* a bit for each fate that is as it should be */
};

struct stepwise_protocol {
	const char *name;
	__u16 port;	  /* UDP, host order */
	__u16 wire_size;  /* bytes of every message on the wire; without the tail, where it may have
			     one */
	__u16 tail_max;	  /* bytes that may follow; 0 where all messages have one size */
	__u32 sweep_size; /* bytes of the protocol's struct that is threaded through a sweep */
	__u32 sweep_period_ms;	    /* 0 where nothing is swept */
	bool compares_addresses;    /* its programs serve what is sent to this host's addresses, and
				       have to know these */
	__u64 layout_id;	    /* hash of everything that pinned maps depend on */
	struct stepwise_seed *seed; /* of the steps below, to be set before they run; NULL where
				       nothing is hashed */
	__u64 young_ns;	  /* from what age on tables are old to every step; 0 where none asks */
	bool tells_peers; /* whether a step asks for the peer or for a token */
	__u64 terms; /* what clients rely on, of which tokens are a part; 0 where no step asks */
	bool takes_tokens; /* whether clients show tokens, */
	__u16 token_at;	   /* and where in a message: 8 bytes */

	const struct stepwise_table *tables;
	__u32 table_count;

	const char *const *counters; /* names; the map `counters` holds one __u64 a CPU for each */
	__u32 counter_count;

	const struct stepwise_pass *passes;
	__u32 pass_count;

	const struct stepwise_restore *restore; /* NULL where no rows are restored */

	const char *xdp_program;
	const char *tc_program;	   /* NULL where nothing is completed */
	const char *ahead_program; /* NULL where no cells are read ahead */

	/*
	 * The rare path: decide on one forwarded message. Reads and writes of the tables
	 * what user_reads says. Rewrites the payload and says STEPWISE_REPLY, or leaves
	 * what came and says STEPWISE_AGAIN or STEPWISE_DROP, the latter also for a payload that
	 * does not decode and for a cell that could not be read. NULL where nothing is forwarded.
	 * `payload` has room for wire_size + tail_max bytes; `size`: of what came, between
	 * wire_size and that, and then of the reply.
	 */
	enum stepwise_verdict (*on_forwarded)(const struct stepwise_tables *tables,
					      const struct stepwise_environment *environment,
					      unsigned char *payload, size_t *size);

	/*
	 * The sections of the xdp and of the tc hook as plain functions, over ordinary
	 * memory: every table is capacity * element_size zeroed bytes, which several
	 * threads share (cells are stepped by compare-and-swap or under their guards here
	 * too). The kernel-UDP server of the benchmark is made of them. They say
	 * STEPWISE_REPLY, STEPWISE_FORWARD (with the payload as it came, but for what is
	 * handed over or forwarded) or STEPWISE_DROP, the last also for a payload that
	 * does not decode. run_tc is NULL where nothing is completed. `payload` and
	 * `size` as above; a tail stays as it is.
	 */
	enum stepwise_verdict (*run_xdp)(const struct stepwise_tables *tables,
					 const struct stepwise_environment *environment,
					 unsigned char *payload, size_t *size);
	enum stepwise_verdict (*run_tc)(const struct stepwise_tables *tables,
					const struct stepwise_environment *environment,
					unsigned char *payload, size_t *size);

	const struct stepwise_drain *drain;	  /* NULL where nothing is drained to files */
	const struct stepwise_recovery *recovery; /* NULL where nothing is made of these */

	/* The compiled BPF object, from the libbpf skeleton. */
	const void *(*object)(size_t *size);
};

extern const struct stepwise_protocol stepwise_protocol;

#endif
