/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The command `restore`: puts recovered rows into the tables. */
#ifndef STEPWISE_RESTORE_H
#define STEPWISE_RESTORE_H

#include "stepwise.h"

/*
 * Reads the file at `path`, or standard input if that is "-". Requires that the protocol serves
 * nobody. Returns 0 if every row was restored, else a negative errno after a message. For `first`,
 * see programs_load().
 */
int command_restore(const struct stepwise_protocol *protocol, const char *path, bool first);

#endif
