/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Moves the daemon to the background if it is asked to. */
#ifndef STEPWISE_DAEMONIZE_H
#define STEPWISE_DAEMONIZE_H

#include <stdbool.h>

#include "stepwise.h"

struct background {
	bool is_parent; /* true in the parent, after the child was ready or failed */
	int report_fd;	/* the child reports to the parent by it; -1 in the foreground */
};

/*
 * With `daemonize`, forks. In the parent, it returns when the child is ready (0) or could not start
 * (its negative errno). The child's messages go to the terminal until then, and afterwards to
 * <protocol>.log in the run directory.
 */
int daemonize_begin(struct background *background, const struct stepwise_protocol *protocol,
		    bool daemonize);
void daemonize_ready(struct background *background, int err);

#endif
