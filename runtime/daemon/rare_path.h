/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Answers, with the protocol's own handler, what the XDP program left to the daemon. */
#ifndef STEPWISE_RARE_PATH_H
#define STEPWISE_RARE_PATH_H

#include "net/endpoint.h"

struct rare_path;

/* Opens the tables that the handler reads; NULL after a message. */
struct rare_path *rare_path_open(const struct stepwise_protocol *protocol,
				 struct daemon_statistics *statistics);
void rare_path_close(struct rare_path *path);

/* Whether the kernel lets this process read what the handler reads; errno says why not. */
bool rare_path_may_run(const struct rare_path *path);

/* Takes one batch from the socket and answers it. */
void rare_path_serve(struct rare_path *path, struct endpoint *endpoint);

/* What waits to be served again. */
struct again *rare_path_again(const struct rare_path *path);

/* Serves that: to be called when again_fd() is readable. */
void rare_path_serve_again(struct rare_path *path);

#endif
