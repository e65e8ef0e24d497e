/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The daemon: answers forwarded requests, runs the sweep, and drains records to files. */
#ifndef STEPWISE_SERVE_H
#define STEPWISE_SERVE_H

#include <stdbool.h>

#include "stepwise.h"

#define SERVE_BUFFER_BYTES (4u << 20)
#define SERVE_BUFFER_BYTES_MAX (1u << 30)

struct serve_options {
	const char *user; /* user to become; NULL to stay the same */
	bool daemonize;
	const char *segments; /* folder for the drain; NULL without a drain */
	/*
	 * Room in each socket, and in the ring, for datagrams that wait; 0 for SERVE_BUFFER_BYTES.
	 */
	__u32 buffer_bytes;
};

/*
 * Returns 0 after SIGTERM or SIGINT. Returns a negative errno, after a message, if the daemon could
 * not start or continue.
 */
int command_serve(const struct stepwise_protocol *protocol, const struct serve_options *options);

#endif
