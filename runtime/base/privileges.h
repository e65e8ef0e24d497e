/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Privileges that a command needs, and that the daemon drops. */
#ifndef STEPWISE_PRIVILEGES_H
#define STEPWISE_PRIVILEGES_H

#include <stdbool.h>

/*
 * Checks the privileges for loading and attaching. If some are missing, refuses with a sentence
 * that names them and starts with `doing`.
 */
int privileges_check(const char *doing);

/*
 * Drops every capability that `still_works` does not need, and every way back to one (bounding set,
 * no_new_privs). Becomes `user` unless that is NULL. Finds the least set by trying: for a test run,
 * kernels from 5.19 on require nothing, and earlier ones require CAP_BPF if unprivileged BPF is
 * off.
 */
int privileges_drop(const char *user, bool (*still_works)(void *context), void *context);

#endif
