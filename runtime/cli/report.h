/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Reads from the pins what is loaded, and what the programs have counted. */
#ifndef STEPWISE_REPORT_H
#define STEPWISE_REPORT_H

#include <limits.h>
#include <sys/types.h>

#include "net/interfaces.h"
#include "state/run_state.h"

struct program_report {
	char name[NAME_MAX + 1];
	__u32 id;
	__u32 verified_insns; /* processed by the verifier; 0 before kernel 5.16 */
	__u32 translated_bytes;
	__u32 jited_bytes; /* 0 if the program is interpreted */
};

struct table_report {
	const struct stepwise_table *table;
	char path[PATH_MAX];
	__u32 id;
};

struct report {
	const struct stepwise_protocol *protocol;
	bool loaded;		    /* programs are pinned */
	bool same_build;	    /* the pinned programs are of this build */
	pid_t daemon;		    /* process number; 0 if none runs */
	unsigned long daemon_netns; /* inode of its network namespace; 0 if unknown */
	bool daemon_counted;
	struct daemon_statistics statistics;
	struct interface *interfaces;
	size_t interface_count;
	struct program_report *programs;
	size_t program_count;
	struct table_report *tables; /* the pinned tables */
	size_t table_count;
	/* protocol->counter_count sums over all CPUs; NULL if they are of another build. */
	__u64 *counters;
};

/* Returns 0, also if nothing is loaded; else a negative errno after a message. */
int report_gather(const struct stepwise_protocol *protocol, struct report *report);
void report_free(struct report *report);

#endif
