/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Answers the requests that the XDP program forwards to the daemon, by the protocol's handler. */
#ifndef STEPWISE_RARE_PATH_H
#define STEPWISE_RARE_PATH_H

#include "net/endpoint.h"

struct rare_path;

/* Opens the tables that the handler accesses. Returns NULL after a message. */
struct rare_path *rare_path_open(const struct stepwise_protocol *protocol,
				 struct daemon_statistics *statistics);
void rare_path_close(struct rare_path *path);

/* True if the kernel lets this process read these tables; otherwise errno has the reason. */
bool rare_path_may_run(const struct rare_path *path);

/* Receives one batch from the endpoint and answers it. */
void rare_path_serve(struct rare_path *path, struct endpoint *endpoint);

/* Returns the datagrams that wait to be served again. */
struct deferred *rare_path_deferred(const struct rare_path *path);

/* Serves them. Call it when deferred_fd() is readable. */
void rare_path_serve_deferred(struct rare_path *path);

#endif
