/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The command `restore`: rows that were recovered, into the tables. */
#ifndef STEPWISE_RESTORE_H
#define STEPWISE_RESTORE_H

#include "stepwise.h"

/*
 * From the file at `path`, or standard input where it is "-". Only while the protocol serves
 * nobody. 0 when of every row has become what should; otherwise a negative errno after a message.
 * first: see programs_load().
 */
int command_restore(const struct stepwise_protocol *protocol, const char *path, bool first);

#endif
