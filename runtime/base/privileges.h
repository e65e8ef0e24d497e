/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What a command has to be allowed, and what the daemon gives up. */
#ifndef STEPWISE_PRIVILEGES_H
#define STEPWISE_PRIVILEGES_H

#include <stdbool.h>

/* Refuses, with a sentence that names them, to go on without what loading and attaching take.
 * `doing` starts it. */
int privileges_check(const char *doing);

/*
 * Drops every capability that `still_works` does not need, and the way back to
 * any (bounding set, no_new_privs); becomes `user` where that is not NULL. The
 * least set is found by trying: kernels from 5.19 on ask nothing of a test run,
 * earlier ones CAP_BPF where unprivileged BPF is turned off.
 */
int privileges_drop(const char *user, bool (*still_works)(void *context), void *context);

#endif
