/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The daemon: answers what XDP let through, sweeps, and drains to files. */
#ifndef STEPWISE_SERVE_H
#define STEPWISE_SERVE_H

#include <stdbool.h>

#include "stepwise.h"

#define SERVE_BUFFER_BYTES (4u << 20)
#define SERVE_BUFFER_BYTES_MAX (1u << 30)

struct serve_options {
	const char *user; /* to become; NULL to stay who we are */
	bool daemonize;
	const char *segments; /* the folder that is drained to; NULL where nothing is */
	__u32 buffer_bytes; /* of each socket, and of the ring, for what waits for the daemon; 0 for
			       SERVE_BUFFER_BYTES */
};

/* Returns 0 after SIGTERM or SIGINT; a negative errno, after a message, when it could not start or
 * go on. */
int command_serve(const struct stepwise_protocol *protocol, const struct serve_options *options);

#endif
