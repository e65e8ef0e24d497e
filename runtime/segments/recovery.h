/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Reduces the entries of a folder to a row for each key, in memory. */
#ifndef STEPWISE_RECOVERY_H
#define STEPWISE_RECOVERY_H

#include "stepwise_drain.h"

struct recovery;

/*
 * Reserves room for as many keys as there may be entries. Unused room takes no memory. Returns NULL
 * after a message.
 */
struct recovery *recovery_open(const struct stepwise_entries *entries,
			       const struct stepwise_recovery *steps, __u64 entries_max);
void recovery_close(struct recovery *recovery);

/*
 * Steps the cell of each entry's key. A segments_visitor, whose context is a `struct recovery *`.
 */
int recovery_take(void *recovery, const unsigned char *entries, size_t count);

__u64 recovery_keys(const struct recovery *recovery);
__u64 recovery_key(const struct recovery *recovery, __u64 at);
const void *recovery_cell(const struct recovery *recovery, __u64 at);

#endif
