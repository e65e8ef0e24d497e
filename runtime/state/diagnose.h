/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Explains why the kernel refused an object. */
#ifndef STEPWISE_DIAGNOSE_H
#define STEPWISE_DIAGNOSE_H

#include <stddef.h>

#include "stepwise.h"

struct bpf_object;

/*
 * One buffer per program for the verifier's log. The verifier writes a log only if it refuses the
 * program.
 */
struct verifier_logs {
	char **buffers;
	size_t count;
};

int verifier_logs_open(struct verifier_logs *logs, struct bpf_object *object);
void verifier_logs_close(struct verifier_logs *logs);

/*
 * Reports in one sentence what is missing: a kernel function, a helper, memory, or a privilege. If
 * none of these is, reports where the verifier's log was saved.
 */
void explain_load_failure(const struct stepwise_protocol *protocol, struct bpf_object *object,
			  const struct verifier_logs *logs, int err);

#endif
