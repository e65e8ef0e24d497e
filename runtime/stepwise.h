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

enum stepwise_verdict {
	STEPWISE_CONTINUE,
	STEPWISE_REPLY,
	STEPWISE_FORWARD,
	STEPWISE_DROP,
};

/* What a step sees in userspace beside the tables and the message. */
struct stepwise_environment {
	__u64 now_ns;  /* CLOCK_MONOTONIC, the clock of bpf_ktime_get_ns() */
	__u64 random;  /* from getrandom() */
};

struct stepwise_table {
	const char *name;      /* of the map and of its pin */
	__u32 capacity;        /* elements */
	__u32 element_size;    /* bytes; value size of the map and stride of the array */
	bool mmapable;         /* word cells; the others hold a spin_lock */
	bool read_by_user;     /* the user hook scans it; only a mmapable one */
};

/* One pass of the sweep: a program that is test-run over chunks of a table. */
struct stepwise_pass {
	const char *program;
	__u32 table;  /* index into stepwise_protocol.tables */
};

struct stepwise_protocol {
	const char *name;
	__u16 port;             /* UDP, host order */
	__u16 wire_size;        /* bytes of every message on the wire */
	__u32 sweep_size;       /* bytes of the protocol's struct that is threaded through a sweep */
	__u32 sweep_period_ms;  /* 0 where nothing is swept */
	__u64 layout_id;        /* hash of everything that pinned maps depend on */

	const struct stepwise_table *tables;
	__u32 table_count;

	const char *const *counters;  /* names; the map `counters` holds one __u64 a CPU for each */
	__u32 counter_count;

	const struct stepwise_pass *passes;
	__u32 pass_count;

	const char *xdp_program;
	const char *tc_program;  /* NULL where nothing is completed */

	/*
	 * The rare path: decide on one forwarded message. tables[i] is the whole of
	 * table i, mapped read-only, or NULL where read_by_user is not set. Rewrites
	 * the payload (wire_size bytes) and says STEPWISE_REPLY or STEPWISE_DROP, the
	 * latter also for a payload that does not decode. NULL where nothing is
	 * forwarded.
	 */
	enum stepwise_verdict (*on_forwarded)(const void *const tables[], const struct stepwise_environment *environment,
					      unsigned char *payload);

	/*
	 * The sections of the xdp and of the tc hook as plain functions, over ordinary
	 * memory: capacity * element_size zeroed bytes a table, which several threads
	 * share (cells are stepped by compare-and-swap here too). The kernel-UDP
	 * server of the benchmark is made of them. They say STEPWISE_REPLY,
	 * STEPWISE_FORWARD (with the payload as it came) or STEPWISE_DROP, the last
	 * also for a payload that does not decode. Both NULL where a table's cells
	 * are not words; run_tc NULL where nothing is completed.
	 */
	enum stepwise_verdict (*run_xdp)(void *const tables[], const struct stepwise_environment *environment,
					 unsigned char *payload);
	enum stepwise_verdict (*run_tc)(void *const tables[], const struct stepwise_environment *environment,
					unsigned char *payload);

	/* The compiled BPF object, from the libbpf skeleton. */
	const void *(*object)(size_t *size);
};

extern const struct stepwise_protocol stepwise_protocol;

#endif
