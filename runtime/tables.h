/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The pinned tables as the protocol's handler reads them. */
#ifndef STEPWISE_TABLES_H
#define STEPWISE_TABLES_H

#include "stepwise.h"

struct tables;

/* Maps, for reading only, the tables that the protocol reads. NULL after a message. */
struct tables *tables_open(const struct stepwise_protocol *protocol);
void tables_close(struct tables *tables);

/* For stepwise_protocol.on_forwarded. */
const void *const *tables_memory(const struct tables *tables);

#endif
