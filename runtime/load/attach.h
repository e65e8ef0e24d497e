/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Attaches programs to an interface and takes them off again. */
#ifndef STEPWISE_ATTACH_H
#define STEPWISE_ATTACH_H

#include "net/interfaces.h"

struct attach_options {
	bool allow_generic; /* where the driver has no native XDP */
	bool clsact;	    /* a TC filter also where the kernel has tcx */
};

/*
 * Attaches both programs (tc_fd is negative where there is none) and pins what
 * holds them in `directory`. On failure nothing stays attached, but what was
 * pinned is the caller's to remove.
 */
int attach_programs(const struct stepwise_protocol *protocol, struct interface *interface,
		    int xdp_fd, int tc_fd, const struct attach_options *options,
		    const char *directory);

/*
 * Detaches the links of one kind that are pinned in `directory`, there and then:
 * to remove the pin alone does it some time later.
 */
void detach_xdp_link(const char *directory);
void detach_tcx_link(const char *directory);

/* For a load that fails after attach_programs(), and for unload: takes off what no link holds. */
int detach_filter(const struct stepwise_protocol *protocol, const struct interface *interface);

#endif
