/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Attaches programs to an interface, and detaches them. */
#ifndef STEPWISE_ATTACH_H
#define STEPWISE_ATTACH_H

#include "net/interfaces.h"

struct attach_options {
	bool allow_generic; /* if the driver has no native XDP */
	bool clsact;	    /* use a TC filter even if the kernel has tcx */
};

/*
 * Attaches both programs (tc_fd is negative if there is none), and pins in `directory` what holds
 * them. After a failure nothing stays attached, but the caller must remove the pins.
 */
int attach_programs(const struct stepwise_protocol *protocol, struct interface *interface,
		    int xdp_fd, int tc_fd, const struct attach_options *options,
		    const char *directory);

/*
 * Detaches the links of one kind that are pinned in `directory`, at once. Removing only the pin
 * would detach them some time later.
 */
void detach_xdp_link(const char *directory);
void detach_tcx_link(const char *directory);

/*
 * Detaches a filter, which no link holds. For unload, and for a load that fails after
 * attach_programs().
 */
int detach_filter(const struct stepwise_protocol *protocol, const struct interface *interface);

#endif
