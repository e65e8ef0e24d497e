/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Why the kernel did not take an object. */
#ifndef STEPWISE_DIAGNOSE_H
#define STEPWISE_DIAGNOSE_H

#include <stddef.h>

#include "stepwise.h"

struct bpf_object;

/* A buffer a program for what the verifier says about it, which it does only when it refuses. */
struct verifier_logs {
	char **buffers;
	size_t count;
};

int verifier_logs_open(struct verifier_logs *logs, struct bpf_object *object);
void verifier_logs_close(struct verifier_logs *logs);

/*
 * One sentence on what is missing: a kernel function, a helper, memory, a
 * privilege; or where the verifier's log was saved.
 */
void explain_load_failure(const struct stepwise_protocol *protocol, struct bpf_object *object,
			  const struct verifier_logs *logs, int err);

#endif
