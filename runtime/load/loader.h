/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Commands that change what is loaded: load, unload, purge. */
#ifndef STEPWISE_LOADER_H
#define STEPWISE_LOADER_H

#include "load/attach.h"

/* How tables are made, where there are none. */
struct fresh_tables {
	bool first;			  /* nobody can rely on what earlier ones promised */
	const struct stepwise_seed *seed; /* for tests and runs that repeat; NULL for a random one
					   */
};

struct load_options {
	struct attach_options attach;
	struct fresh_tables fresh;
};

/* Each: 0, or a negative errno after a sentence on standard error. */
int command_load(const struct stepwise_protocol *protocol, const char *interface_name,
		 const struct load_options *options);
int command_unload(const struct stepwise_protocol *protocol, const char *interface_name,
		   bool purge);
int command_purge(const struct stepwise_protocol *protocol);

/*
 * Programs and tables, pinned as by a load, and attached to nothing. Refuses while the protocol
 * serves. Until the caller closes the descriptor that it gets, nobody else can load it; negative
 * after a message. first: see programs_load().
 */
int load_tables(const struct stepwise_protocol *protocol, bool first);

#endif
