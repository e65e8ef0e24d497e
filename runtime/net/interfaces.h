/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The interfaces that a protocol is loaded on, as the pins tell. */
#ifndef STEPWISE_INTERFACES_H
#define STEPWISE_INTERFACES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <net/if.h>

#include "stepwise.h"

enum xdp_mode {
	XDP_MODE_NATIVE,
	XDP_MODE_GENERIC,
};

enum tc_mode {
	TC_MODE_NONE,	/* the protocol completes nothing */
	TC_MODE_TCX,	/* a link, kernel 6.6 on */
	TC_MODE_CLSACT, /* a filter of the clsact qdisc */
};

struct interface {
	unsigned long netns; /* inode of the network namespace */
	unsigned int ifindex;
	char name[IF_NAMESIZE]; /* when it was loaded, or now where that can be seen from here */
	char path[PATH_MAX];	/* of its pins */
	bool here;		/* in the network namespace of this process */
	bool gone;		/* the interface has been deleted since */
	enum xdp_mode xdp_mode;
	enum tc_mode tc_mode;
	bool made_qdisc;  /* by the load that is under way */
	bool looks_ahead; /* in a report */
};

const char *xdp_mode_name(enum xdp_mode mode);
const char *tc_mode_name(enum tc_mode mode);

/* The directory of an interface's pins. */
int interface_path(char path[PATH_MAX], unsigned long netns, unsigned int ifindex,
		   const char *name);

/* All of them, in the order of their keys; *list is for the caller to free. */
int interfaces_list(struct interface **list, size_t *count);

/*
 * Whether a protocol serves one network namespace at a time: its daemon receives in one, or its
 * programs know the addresses of one.
 */
static inline bool serves_one_namespace(const struct stepwise_protocol *protocol)
{
	return protocol->on_forwarded || protocol->compares_addresses;
}

/* 1 where one is attached in another network namespace, which *elsewhere gets; 0 where none is;
 * negative after a message. */
int interfaces_elsewhere(struct interface *elsewhere);

/*
 * Reads an open directory interfaces/ for the indices of this network namespace's
 * interfaces. Needs no privilege, so that the daemon can ask again later.
 */
size_t interfaces_read_indices(int directory_fd, unsigned long netns, unsigned int *indices,
			       size_t indices_max);

#endif
