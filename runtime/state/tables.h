/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The pinned tables, as the protocol's handler reads and steps them. */
#ifndef STEPWISE_TABLES_H
#define STEPWISE_TABLES_H

#include "stepwise.h"

struct tables;

/* Called before a cell is read or stepped. */
typedef void tables_observer(void *context, unsigned int table, __u32 index);

/*
 * Opens the tables that the protocol reads, and for writing those whose cells it steps. Also gives
 * the steps their seed. Returns NULL after a message.
 */
struct tables *tables_open(const struct stepwise_protocol *protocol, tables_observer *observer,
			   void *context);
void tables_close(struct tables *tables);

/* Returns the interface for stepwise_protocol.on_forwarded. */
const struct stepwise_tables *tables_interface(const struct tables *tables);

/* Returns the age of the tables: see birth.h. */
__u64 tables_age_ns(const struct tables *tables, __u64 now_ns);

/* True if the kernel lets this process read cells by the map; otherwise errno has the reason. */
bool tables_may_read(const struct tables *tables);

#endif
