/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What a generated protocol with a drain tells the daemon of it. Records wait in lanes, one for
 * each index of the layout's `drain.each`; in a lane they have the numbers 1, 2, 3 and so on, and
 * begin again in another epoch. An entry is a record as a file has it: `entry_size` bytes, little
 * endian, of the fields of the layout's `drain.entry`.
 */
#ifndef STEPWISE_DRAIN_H
#define STEPWISE_DRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

struct stepwise_tables;

/* Where a record stands. */
struct stepwise_place {
	__u64 epoch; /* 0: none has begun */
	__u64 number;
	__u32 lane;
};

/* How a field of an entry or of a row is to be shown; its bytes are little endian. */
enum stepwise_shown {
	STEPWISE_SHOWN_NUMBER, /* also the members of an enum and of a set, by their names where
				  there are some */
	STEPWISE_SHOWN_BOOL,
	STEPWISE_SHOWN_BYTES,
};

struct stepwise_shown_field {
	const char *name;
	__u32 offset;
	__u32 size;
	enum stepwise_shown shown;
	const char *const *members; /* of an enum: the name of each value; else NULL */
	__u32 member_count;
};

/* The entries of a protocol's segment files. */
struct stepwise_entries {
	const char *protocol;
	__u32 size;
	__u64 id; /* hash of the layout's entry: other entries are not read as these */
	__u32 lanes;
	__u64 epoch_max; /* what its field has room for */
	void (*place)(const unsigned char *entry, struct stepwise_place *place);
	const struct stepwise_shown_field *fields;
	__u32 field_count;
};

struct stepwise_drain {
	const struct stepwise_entries *entries;
	__u32 batch;	     /* records of each lane that are taken before they are written */
	__u64 segment_bytes; /* of a file, before another is begun */
	__u32 sync_ms;	     /* how long a sync waits for company */

	/* The records of a lane that are there, from the first that was not drained: at most
	 * `room`, an entry each `stride` bytes. */
	__u32 (*take)(const struct stepwise_tables *tables, __u32 lane, unsigned char *entries,
		      size_t stride, __u32 room);

	/*
	 * All of a lane up to `place` is in a file, and all of it is on the disk: a word is
	 * swapped, where the step has something to say. The step's message is all zero but for the
	 * place.
	 */
	bool (*written)(const struct stepwise_tables *tables, const struct stepwise_place *place);
	bool (*synced)(const struct stepwise_tables *tables, const struct stepwise_place *place);

	/* What the tables themselves say of a lane: how far it was written, and how far synced. */
	void (*marks)(const struct stepwise_tables *tables, __u32 lane,
		      struct stepwise_place *written, struct stepwise_place *synced);

	/* A lane without an epoch begins this one, by the sections of `drain.begins`: each for all
	 * lanes before the next is for any. */
	bool (*begins)(const struct stepwise_tables *tables, __u32 section,
		       const struct stepwise_place *place);
	__u32 begins_count;
};

/* What is made of the entries of each key, in whatever order they come. */
struct stepwise_recovery {
	__u32 cell_size; /* in memory */
	__u32 row_size;	 /* of a key with its cell as recovery writes them, little endian */
	__u64 (*key)(const unsigned char *entry);
	void (*begin)(void *cell); /* what a key without entries has */
	void (*step)(void *cell, const unsigned char *entry);
	void (*row)(unsigned char *row, __u64 key, const void *cell);
	const struct stepwise_shown_field *fields; /* of a row */
	__u32 field_count;
};

#endif
