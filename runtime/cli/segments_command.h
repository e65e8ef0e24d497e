/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Commands that inspect a folder of segments. They need neither tables nor privilege. */
#ifndef STEPWISE_SEGMENTS_COMMAND_H
#define STEPWISE_SEGMENTS_COMMAND_H

#include "stepwise_drain.h"

struct segments_options {
	/* Print the report as an object, after the entries as objects, one a line. */
	bool json;
	bool entries;	    /* also show the entries */
	bool text;	    /* print the rows of a recovery for people */
	const char *output; /* file for the rows; NULL for standard output */
	__u64 before;	    /* truncate: the first segment that is kept */
};

/* All return -EBADMSG if something is corrupt, after a report that names each place. */
int command_segments(const struct stepwise_entries *entries, const char *folder,
		     const struct segments_options *options);
int command_recover(const struct stepwise_entries *entries,
		    const struct stepwise_recovery *recovery, const char *folder,
		    const struct segments_options *options);
int command_truncate(const struct stepwise_entries *entries, const char *folder,
		     const struct segments_options *options);

#endif
