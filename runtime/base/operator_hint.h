/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Commands that a message tells the operator to run. */
#ifndef STEPWISE_OPERATOR_HINT_H
#define STEPWISE_OPERATOR_HINT_H

#include "stepwise.h"

/* Remembers how this program was called. */
void operator_hint_open(const struct stepwise_protocol *protocol, const char *program);

/*
 * Returns the command line for `verb` with `arguments` that works where this program was called:
 * "build/pd unload eth0", or "just unload eth0" if a recipe called it. The text is valid until the
 * next call.
 */
const char *operator_hint(const char *verb, const char *arguments);

#endif
