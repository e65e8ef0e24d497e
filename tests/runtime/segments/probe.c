/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Entries of no protocol, for the tests of segment files: epoch (2 bytes), lane (1), number (6),
 * key (4), version (4), value (8). */
#include <string.h>

#include "cli/segments_command.h"
#include "segments/recovery.h"
#include "segments/segment_reader.h"
#include "segments/segments.h"

#define LANES 3

struct probe_cell {
	__u32 version;
	__u64 value;
};

static __u64 number_at(const unsigned char *bytes, unsigned int size)
{
	__u64 number = 0;

	memcpy(&number, bytes, size);
	return number;
}

static void place(const unsigned char *entry, struct stepwise_place *place)
{
	*place = (struct stepwise_place){ .epoch = number_at(entry, 2),
					  .lane = entry[2],
					  .number = number_at(entry + 3, 6) };
}

static __u64 key(const unsigned char *entry)
{
	return number_at(entry + 9, 4);
}

static void begin(void *cell)
{
	*(struct probe_cell *)cell = (struct probe_cell){};
}

static void step(void *cell, const unsigned char *entry)
{
	struct probe_cell *newest = cell;

	if (newest->version < number_at(entry + 13, 4))
		*newest = (struct probe_cell){ .version = number_at(entry + 13, 4),
					       .value = number_at(entry + 17, 8) };
}

static void row(unsigned char *row, __u64 key, const void *cell)
{
	const struct probe_cell *newest = cell;

	memcpy(row, &key, 4);
	memcpy(row + 4, &newest->version, 4);
	memcpy(row + 8, &newest->value, 8);
}

static const struct stepwise_shown_field entry_fields[] = {
	{ .name = "epoch", .offset = 0, .size = 2 },
	{ .name = "lane", .offset = 2, .size = 1 },
	{ .name = "number", .offset = 3, .size = 6 },
	{ .name = "key", .offset = 9, .size = 4 },
	{ .name = "version", .offset = 13, .size = 4 },
	{ .name = "value", .offset = 17, .size = 8, .shown = STEPWISE_SHOWN_BYTES },
};

static const struct stepwise_shown_field row_fields[] = {
	{ .name = "key", .offset = 0, .size = 4 },
	{ .name = "version", .offset = 4, .size = 4 },
	{ .name = "value", .offset = 8, .size = 8, .shown = STEPWISE_SHOWN_BYTES },
};

#define PROBE_ENTRIES(hash)             \
	{                               \
		.protocol = "probe",    \
		.size = 25,             \
		.id = hash,             \
		.lanes = LANES,         \
		.epoch_max = 65535,     \
		.place = place,         \
		.fields = entry_fields, \
		.field_count = 6,       \
	}

extern const struct stepwise_entries probe_entries, probe_other_entries;
extern const struct stepwise_recovery probe_recovery;
const struct stepwise_entries probe_entries = PROBE_ENTRIES(0x0102030405060708);
const struct stepwise_entries probe_other_entries = PROBE_ENTRIES(0x0102030405060709);
const struct stepwise_recovery probe_recovery = {
	.cell_size = sizeof(struct probe_cell),
	.row_size = 16,
	.key = key,
	.begin = begin,
	.step = step,
	.row = row,
	.fields = row_fields,
	.field_count = 3,
};

/* `count` entries of one lane, their numbers one after the other. For each: key, then version,
 * value are those of the number. */
void probe_fill(unsigned char *entries, __u64 epoch, __u32 lane, __u64 first, __u32 count,
		__u32 keys);

void probe_fill(unsigned char *entries, __u64 epoch, __u32 lane, __u64 first, __u32 count,
		__u32 keys)
{
	for (__u32 i = 0; i < count; i++, entries += 29) {
		const __u64 number = first + i;
		const __u32 of_key = (__u32)(number * 0x9e3779b97f4a7c15ull >> 32) % keys;
		const __u32 version = (__u32)number;

		memcpy(entries, &epoch, 2);
		entries[2] = (unsigned char)lane;
		memcpy(entries + 3, &number, 6);
		memcpy(entries + 9, &of_key, 4);
		memcpy(entries + 13, &version, 4);
		memcpy(entries + 17, &number, 8);
	}
}
