/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Files of a daemon in the run directory, for other commands: <protocol>.claim and <protocol>.pid
 * (daemon_claim.h), each with the daemon's process number and the inode of its network namespace, a
 * line each; and <protocol>.statistics with its counters.
 */
#ifndef STEPWISE_RUN_STATE_H
#define STEPWISE_RUN_STATE_H

#include <sys/types.h>

#include "stepwise.h"

/* Counters since the file was made. A restarted daemon continues them. */
struct daemon_statistics {
	__u64 received;		/* datagrams */
	__u64 received_by_ring; /* received by the ring buffer */
	__u64 replied;
	__u64 dropped;		    /* by decision of the protocol's handler */
	__u64 kept;		    /* kept by its decision, to be served once more */
	__u64 kept_dropped;	    /* the oldest kept ones, when too many waited */
	__u64 malformed;	    /* not of the wire size */
	__u64 unexpected_interface; /* the interface was unloaded after the arrival */
	__u64 strangers; /* dropped at the port: came up the network stack, so not from XDP */
	/* Found no room to wait in: the daemon was too slow, or its buffer is too small. */
	__u64 overflowed;
	__u64 send_failed;
	__u64 sweeps; /* finished, with any number of passes */
	__u64 sweep_passes;
	__u64 sweep_cells_continued;
	__u64 sweep_contended; /* chunks that stopped at a cell */
	__u64 sweep_failed;    /* test runs that the kernel refused */
	__u64 drain_records;   /* written to segment files */
	__u64 drain_bytes;     /* bytes of these, with their checksums */
	__u64 drain_batches;   /* writes */
	__u64 drain_full;      /* writes that found no room, and are retried */
	__u64 drain_segments;  /* started after a full one */
	__u64 drain_syncs;
	__u64 drain_sync_us;	  /* total time of all syncs */
	__u64 drain_sync_last_us; /* time of the last sync: not a sum */
};

#define DAEMON_STATISTICS_COUNT (sizeof(struct daemon_statistics) / sizeof(__u64))
/* The only statistic that is not a sum. */
#define DAEMON_STATISTICS_GAUGE \
	(offsetof(struct daemon_statistics, drain_sync_last_us) / sizeof(__u64))
extern const char *const daemon_statistics_names[DAEMON_STATISTICS_COUNT];

/* Opens the statistics as shared memory. Returns NULL after a message. */
struct daemon_statistics *daemon_statistics_open(const struct stepwise_protocol *protocol);

/* Copies the statistics. Returns -ENOENT, without a message, if no daemon has run yet. */
int daemon_statistics_read(const struct stepwise_protocol *protocol,
			   struct daemon_statistics *statistics);

/* After <program>: the name of the file with the verifier's log. */
#define VERIFIER_LOG_SUFFIX "-verifier.log"

/*
 * Removes all files of this protocol from the run directory, unless a daemon runs. Returns their
 * number, or a negative errno after a message.
 */
int run_state_remove(const struct stepwise_protocol *protocol);

#endif
