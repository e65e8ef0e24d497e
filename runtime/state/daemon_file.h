/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What a daemon leaves in the run directory for other commands to see: <protocol>.claim and
 * <protocol>.pid (daemon_claim.h), each with its pid and the inode of its network namespace, a line
 * each; and <protocol>.statistics, which it counts in.
 */
#ifndef STEPWISE_DAEMON_FILE_H
#define STEPWISE_DAEMON_FILE_H

#include <sys/types.h>

#include "stepwise.h"

/* Counted since the file was made; a daemon that is started again goes on from there. */
struct daemon_statistics {
	__u64 received;		/* datagrams */
	__u64 received_by_ring; /* of these, by the ring buffer */
	__u64 replied;
	__u64 dropped;		    /* as the protocol's handler decided */
	__u64 kept;		    /* likewise, to be served once more */
	__u64 kept_dropped;	    /* of these the oldest, where too many waited */
	__u64 malformed;	    /* not of the wire size */
	__u64 unexpected_interface; /* its interface was unloaded since it arrived */
	__u64 strangers;  /* came to the port up the network stack, so not from XDP: not received */
	__u64 overflowed; /* found no room to wait in: the daemon was too slow, or its buffer is too
			     small */
	__u64 send_failed;
	__u64 sweeps; /* ended, with any number of passes */
	__u64 sweep_passes;
	__u64 sweep_cells_continued;
	__u64 sweep_contended; /* chunks that stopped at a cell */
	__u64 sweep_failed;    /* test runs that the kernel refused */
	__u64 drain_records;   /* written to segment files */
	__u64 drain_bytes;     /* of these, with their checksums */
	__u64 drain_batches;   /* writes */
	__u64 drain_full;      /* writes that found no room, and are tried again */
	__u64 drain_segments;  /* begun behind a full one */
	__u64 drain_syncs;
	__u64 drain_sync_us;	  /* time of all of them */
	__u64 drain_sync_last_us; /* of the last one: no sum */
};

#define DAEMON_STATISTICS_COUNT (sizeof(struct daemon_statistics) / sizeof(__u64))
/* The one that is no sum. */
#define DAEMON_STATISTICS_GAUGE \
	(offsetof(struct daemon_statistics, drain_sync_last_us) / sizeof(__u64))
extern const char *const daemon_statistics_names[DAEMON_STATISTICS_COUNT];

/* Shared memory to count in; NULL, with a message, where it cannot be had. */
struct daemon_statistics *daemon_statistics_open(const struct stepwise_protocol *protocol);

/* A copy; -ENOENT, without a message, where no daemon has run yet. */
int daemon_statistics_read(const struct stepwise_protocol *protocol,
			   struct daemon_statistics *statistics);

/* After <program>, the file with what the verifier had to say of it. */
#define VERIFIER_LOG_SUFFIX "-verifier.log"

/* Removes everything of this protocol from the run directory, unless a daemon runs; how many files
 * there were, or negative after a message. */
int daemon_files_remove(const struct stepwise_protocol *protocol);

#endif
