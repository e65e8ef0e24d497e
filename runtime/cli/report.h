/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What is loaded and what it has counted, gathered from the pins. */
#ifndef STEPWISE_REPORT_H
#define STEPWISE_REPORT_H

#include <limits.h>
#include <sys/types.h>

#include "net/interfaces.h"
#include "state/daemon_file.h"

struct program_report {
	char name[NAME_MAX + 1];
	__u32 id;
	__u32 verified_insns; /* that the verifier processed; 0 before kernel 5.16 */
	__u32 translated_bytes;
	__u32 jited_bytes; /* 0 where the program is interpreted */
};

struct table_report {
	const struct stepwise_table *table;
	char path[PATH_MAX];
	__u32 id;
};

struct report {
	const struct stepwise_protocol *protocol;
	bool loaded;		    /* there are pinned programs */
	bool same_build;	    /* and they are of this build */
	pid_t daemon;		    /* 0 where none is running */
	unsigned long daemon_netns; /* 0 where that is not known */
	bool daemon_counted;
	struct daemon_statistics statistics;
	struct interface *interfaces;
	size_t interface_count;
	struct program_report *programs;
	size_t program_count;
	struct table_report *tables; /* those that are pinned */
	size_t table_count;
	__u64 *counters; /* protocol->counter_count sums over all CPUs; NULL where they are of
			    another build */
};

/* 0, also where nothing is loaded; else a negative errno after a message. */
int report_gather(const struct stepwise_protocol *protocol, struct report *report);
void report_free(struct report *report);

#endif
