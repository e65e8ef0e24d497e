/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The sweep: now and then the protocol's passes, one after the other, each a
 * program that is run over a whole table in chunks.
 */
#ifndef STEPWISE_SWEEP_RUNNER_H
#define STEPWISE_SWEEP_RUNNER_H

#include <stdbool.h>

#include "state/daemon_file.h"

struct sweep;

/* Opens the pinned programs; NULL after a message. */
struct sweep *sweep_open(const struct stepwise_protocol *protocol,
			 struct daemon_statistics *statistics);
void sweep_close(struct sweep *sweep);

/* Whether the kernel lets this process run the programs; visits no cell. */
bool sweep_may_run(const struct sweep *sweep);

/* What the caller is to wait for before it calls sweep_continue() again. */
enum sweep_wait {
	SWEEP_READY,	 /* nothing: there is another chunk to run */
	SWEEP_CONTENDED, /* a moment: a cell is being changed by others */
	SWEEP_GRACE,	 /* for programs in flight to end */
	SWEEP_DONE,	 /* for the next period */
};

/* Begins, unless one is under way. */
void sweep_begin(struct sweep *sweep);
bool sweep_under_way(const struct sweep *sweep);

/* Runs one chunk. */
enum sweep_wait sweep_continue(struct sweep *sweep);

#endif
