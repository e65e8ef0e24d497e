/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The pinned tables as the protocol's handler reads them, and steps some. */
#ifndef STEPWISE_TABLES_H
#define STEPWISE_TABLES_H

#include "stepwise.h"

struct tables;

/* Called before one cell is read, or stepped. */
typedef void tables_observer(void *context, unsigned int table, __u32 index);

/*
 * Opens the tables that the protocol reads, for that only, and those whose cells it steps; and
 * gives the steps their seed. NULL after a message.
 */
struct tables *tables_open(const struct stepwise_protocol *protocol, tables_observer *observer,
			   void *context);
void tables_close(struct tables *tables);

/* For stepwise_protocol.on_forwarded. */
const struct stepwise_tables *tables_interface(const struct tables *tables);

/* For how long they have been there: see birth.h. */
__u64 tables_age_ns(const struct tables *tables, __u64 now_ns);

/* Whether the kernel lets this process read cells by the map; errno says why not. */
bool tables_may_read(const struct tables *tables);

#endif
