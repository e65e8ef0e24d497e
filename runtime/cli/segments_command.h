/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The commands that look at a folder of segments, and need neither tables nor privilege. */
#ifndef STEPWISE_SEGMENTS_COMMAND_H
#define STEPWISE_SEGMENTS_COMMAND_H

#include "stepwise_drain.h"

struct segments_options {
	bool json;	    /* the report as an object; each entry as one before it, a line each */
	bool entries;	    /* show them as well */
	bool text;	    /* rows of a recovery to be read by people */
	const char *output; /* a file that rows go to; NULL for standard output */
	__u64 before;	    /* truncate: the first segment that stays */
};

/* All return -EBADMSG, after a report that names each place, where something is corrupt. */
int command_segments(const struct stepwise_entries *entries, const char *folder,
		     const struct segments_options *options);
int command_recover(const struct stepwise_entries *entries,
		    const struct stepwise_recovery *recovery, const char *folder,
		    const struct segments_options *options);
int command_truncate(const struct stepwise_entries *entries, const char *folder,
		     const struct segments_options *options);

#endif
