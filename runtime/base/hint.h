/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Commands that a message tells the operator to run. */
#ifndef STEPWISE_HINT_H
#define STEPWISE_HINT_H

#include "stepwise.h"

/* How this program was called. */
void hint_open(const struct stepwise_protocol *protocol, const char *program);

/*
 * `verb` of this program with `arguments`, as it works from where this program was called:
 * "build/pd unload eth0", or "just unload eth0" when a recipe has called it. Good until
 * the next call.
 */
const char *hint(const char *verb, const char *arguments);

#endif
