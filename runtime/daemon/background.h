/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Leaving the terminal, when the daemon is asked to. */
#ifndef STEPWISE_BACKGROUND_H
#define STEPWISE_BACKGROUND_H

#include <stdbool.h>

#include "stepwise.h"

struct background {
	bool is_parent; /* which has waited for the child to be ready */
	int report_fd;	/* the child's way to say so; -1 in the foreground */
};

/*
 * With `daemonize`, forks: in the parent it returns when the child is ready (0) or
 * could not start (its negative errno). The child's messages go to the terminal
 * until then, afterwards to <protocol>.log in the run directory.
 */
int background_begin(struct background *background, const struct stepwise_protocol *protocol,
		     bool daemonize);
void background_ready(struct background *background, int err);

#endif
