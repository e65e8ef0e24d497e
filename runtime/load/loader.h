/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Commands that change what is loaded: load, unload, purge. */
#ifndef STEPWISE_LOADER_H
#define STEPWISE_LOADER_H

#include "load/attach.h"

/* How to make tables if there are none. */
struct fresh_tables {
	bool first;			  /* no client can rely on promises of earlier tables */
	const struct stepwise_seed *seed; /* for repeatable runs; NULL for a random seed */
};

struct load_options {
	struct attach_options attach;
	struct fresh_tables fresh;
};

/* Each returns 0, or a negative errno after a sentence on standard error. */
int command_load(const struct stepwise_protocol *protocol, const char *interface_name,
		 const struct load_options *options);
int command_unload(const struct stepwise_protocol *protocol, const char *interface_name,
		   bool purge);
int command_purge(const struct stepwise_protocol *protocol);

/*
 * Pins programs and tables as a load does, but attaches nothing. Refuses while the protocol serves.
 * Returns a descriptor, or a negative errno after a message. Nobody else can load the protocol
 * until the caller closes the descriptor. For `first`, see programs_load().
 */
int load_tables(const struct stepwise_protocol *protocol, bool first);

#endif
