/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The sweep: runs the protocol's passes periodically, one after the other. Each pass runs a program
 * over a whole table in chunks.
 */
#ifndef STEPWISE_SWEEP_RUNNER_H
#define STEPWISE_SWEEP_RUNNER_H

#include <stdbool.h>

#include "state/run_state.h"

struct sweep;

/* Opens the pinned programs. Returns NULL after a message. */
struct sweep *sweep_open(const struct stepwise_protocol *protocol,
			 struct daemon_statistics *statistics);
void sweep_close(struct sweep *sweep);

/* True if the kernel lets this process run the programs. Visits no cell. */
bool sweep_may_run(const struct sweep *sweep);

/* What the caller must wait for before it calls sweep_continue() again. */
enum sweep_wait {
	SWEEP_READY,	 /* nothing: the next chunk can run */
	SWEEP_CONTENDED, /* a moment: others are changing a cell */
	SWEEP_GRACE,	 /* the end of programs in flight */
	SWEEP_DONE,	 /* the next period */
};

/* Starts a sweep, unless one is running. */
void sweep_begin(struct sweep *sweep);
bool sweep_under_way(const struct sweep *sweep);

/* Runs one chunk. */
enum sweep_wait sweep_continue(struct sweep *sweep);

#endif
