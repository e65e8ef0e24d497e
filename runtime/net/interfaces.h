/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The interfaces on which a protocol is loaded, as the pins show. */
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
	TC_MODE_TCX,	/* a link, from kernel 6.6 on */
	TC_MODE_CLSACT, /* a filter of the clsact qdisc */
};

struct interface {
	unsigned long netns; /* inode of the network namespace */
	unsigned int ifindex;
	char name[IF_NAMESIZE]; /* at the load; or now, if it is visible from here */
	char path[PATH_MAX];	/* path of its pins */
	bool here;		/* in the network namespace of this process */
	bool gone;		/* the interface was deleted */
	enum xdp_mode xdp_mode;
	enum tc_mode tc_mode;
	bool made_qdisc;  /* by the current load */
	bool looks_ahead; /* only set in a report */
};

const char *xdp_mode_name(enum xdp_mode mode);
const char *tc_mode_name(enum tc_mode mode);

/* Formats the path of the directory with an interface's pins. */
int interface_path(char path[PATH_MAX], unsigned long netns, unsigned int ifindex,
		   const char *name);

/* Lists all interfaces in the order of their keys. The caller frees *list. */
int interfaces_list(struct interface **list, size_t *count);

/*
 * True if a protocol serves one network namespace at a time: because its daemon receives in one, or
 * because its programs know the addresses of one.
 */
static inline bool serves_one_namespace(const struct stepwise_protocol *protocol)
{
	return protocol->on_forwarded || protocol->compares_addresses;
}

/*
 * Returns 1 if an interface in another network namespace is attached, and stores it in *elsewhere.
 * Returns 0 if none is, or a negative errno after a message.
 */
int interfaces_elsewhere(struct interface *elsewhere);

/*
 * Reads the indices of this network namespace's interfaces from an open directory interfaces/.
 * Needs no privilege, so that the daemon can call it again later.
 */
size_t interfaces_read_indices(int directory_fd, unsigned long netns, unsigned int *indices,
			       size_t indices_max);

#endif
