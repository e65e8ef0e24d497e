/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Everything that the daemon knows about the drain of a protocol. Records wait in lanes, one for
 * each index of the layout's `drain.each`. The records of a lane have the numbers 1, 2, 3 and so
 * on, and start again at 1 in another epoch. An entry is a record in a file: `size` bytes,
 * little endian, with the fields of the layout's `drain.entry`.
 */
#ifndef STEPWISE_DRAIN_H
#define STEPWISE_DRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

struct stepwise_tables;

/* The position of a record. */
struct stepwise_place {
	__u64 epoch; /* 0: no epoch has started */
	__u64 number;
	__u32 lane;
};

/* How to show a field of an entry or a row, whose bytes are little endian. */
enum stepwise_shown {
	/*
	 * Also for the members of an enum and of a set, which are shown by name if they have names.
	 */
	STEPWISE_SHOWN_NUMBER,
	STEPWISE_SHOWN_BOOL,
	STEPWISE_SHOWN_BYTES,
};

struct stepwise_shown_field {
	const char *name;
	__u32 offset;
	__u32 size;
	enum stepwise_shown shown;
	const char *const *members; /* for an enum, the name of each value; else NULL */
	__u32 member_count;
};

/* The entries of a protocol's segment files. */
struct stepwise_entries {
	const char *protocol;
	__u32 size;
	/* Hash of the layout's entry. Entries with another hash are not read as these. */
	__u64 id;
	__u32 lanes;
	__u64 epoch_max; /* the greatest value that fits the entry's field */
	void (*place)(const unsigned char *entry, struct stepwise_place *place);
	const struct stepwise_shown_field *fields;
	__u32 field_count;
};

struct stepwise_drain {
	const struct stepwise_entries *entries;
	__u32 batch;	     /* records of each lane that are taken before they are written */
	__u64 segment_bytes; /* size of a file after which the next one is started */
	__u32 sync_ms;	     /* how long a sync waits for further records */

	/*
	 * Copies the records of a lane, from the first one that was not drained, to entries that
	 * lie `stride` bytes apart. Returns their number, at most `room`.
	 */
	__u32 (*take)(const struct stepwise_tables *tables, __u32 lane, unsigned char *entries,
		      size_t stride, __u32 room);

	/*
	 * Reports that all records of a lane up to `place` are in a file (written), or on the disk
	 * (synced). Swaps a word if the step changes it. The step's message is all zero except for
	 * the place.
	 */
	bool (*written)(const struct stepwise_tables *tables, const struct stepwise_place *place);
	bool (*synced)(const struct stepwise_tables *tables, const struct stepwise_place *place);

	/* Reads from the tables how far a lane was written, and how far it was synced. */
	void (*marks)(const struct stepwise_tables *tables, __u32 lane,
		      struct stepwise_place *written, struct stepwise_place *synced);

	/*
	 * Starts this epoch in a lane without one, by the sections of `drain.begins`. A section
	 * must run for all lanes before the next section runs for any.
	 */
	bool (*begins)(const struct stepwise_tables *tables, __u32 section,
		       const struct stepwise_place *place);
	__u32 begins_count;
};

/* Reduces the entries of each key, in any order, to one cell. */
struct stepwise_recovery {
	__u32 cell_size; /* in memory, in bytes */
	__u32 row_size;	 /* bytes of a key and its cell as recovery writes them, little endian */
	__u64 (*key)(const unsigned char *entry);
	void (*begin)(void *cell); /* sets the initial cell of a key */
	void (*step)(void *cell, const unsigned char *entry);
	void (*row)(unsigned char *row, __u64 key, const void *cell);
	const struct stepwise_shown_field *fields; /* the fields of a row */
	__u32 field_count;
};

#endif
