/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/log.h"
#include "segments/recovery.h"
#include "segments/segment_file.h"

/*
 * Number of entries in progress at once: while memory for one is fetched, the others are processed.
 */
#define BLOCK 32

#define KEYS_MAX 0xfffffffeu

/*
 * An open-addressing hash of row numbers, plus one; 0 marks an empty place. The rows are separate,
 * in the order in which their keys came. So the part that is searched is small, and the rows are
 * contiguous for copying.
 */
struct recovery {
	const struct stepwise_entries *entries;
	const struct stepwise_recovery *steps;
	size_t stride; /* in bytes, from one entry to the next */
	__u32 *places;
	__u64 place_mask;
	unsigned char *rows;
	size_t row_size; /* bytes of a key and its cell */
	__u64 row_count;
	__u64 row_max;
};

static __u64 mixed(__u64 key)
{
	key = (key ^ key >> 33) * 0xff51afd7ed558ccdull;
	key = (key ^ key >> 33) * 0xc4ceb9fe1a85ec53ull;
	return key ^ key >> 33;
}

static unsigned char *row_at(const struct recovery *recovery, __u64 at)
{
	return recovery->rows + at * recovery->row_size;
}

__u64 recovery_keys(const struct recovery *recovery)
{
	return recovery->row_count;
}

__u64 recovery_key(const struct recovery *recovery, __u64 at)
{
	return *(const __u64 *)row_at(recovery, at);
}

const void *recovery_cell(const struct recovery *recovery, __u64 at)
{
	return row_at(recovery, at) + sizeof(__u64);
}

static void *reserve(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

struct recovery *recovery_open(const struct stepwise_entries *entries,
			       const struct stepwise_recovery *steps, __u64 entries_max)
{
	struct recovery *recovery = calloc(1, sizeof(*recovery));
	__u64 places = BLOCK;

	if (recovery) {
		recovery->entries = entries;
		recovery->steps = steps;
		recovery->stride = segment_stride(entries);
		recovery->row_size = sizeof(__u64) + (steps->cell_size + 7) / 8 * 8;
		recovery->row_max = entries_max < KEYS_MAX ? entries_max + 1 : KEYS_MAX;
		/* At most two thirds of the places are used. */
		while (places < recovery->row_max + recovery->row_max / 2)
			places *= 2;
		recovery->place_mask = places - 1;
		recovery->places = reserve(places * sizeof(*recovery->places));
		recovery->rows = reserve(recovery->row_max * recovery->row_size);
	}
	if (recovery && recovery->places && recovery->rows)
		return recovery;
	log_error(
		"cannot recover %llu entries: there is not enough memory for as many keys (%llu bytes); truncate segments that were applied, or use a larger machine",
		(unsigned long long)entries_max,
		(unsigned long long)(recovery ? recovery->row_max * recovery->row_size +
							places * sizeof(*recovery->places) :
						0));
	recovery_close(recovery);
	return NULL;
}

void recovery_close(struct recovery *recovery)
{
	if (!recovery)
		return;
	if (recovery->places)
		munmap(recovery->places, (recovery->place_mask + 1) * sizeof(*recovery->places));
	if (recovery->rows)
		munmap(recovery->rows, recovery->row_max * recovery->row_size);
	free(recovery);
}

/*
 * Returns the row of a key, and adds it if there was none. Returns NULL if there is no room for it.
 */
static unsigned char *row_of(struct recovery *recovery, __u64 key, __u64 place)
{
	unsigned char *row;

	for (; recovery->places[place]; place = (place + 1) & recovery->place_mask) {
		row = row_at(recovery, recovery->places[place] - 1);
		if (*(const __u64 *)row == key)
			return row;
	}
	if (recovery->row_count == recovery->row_max)
		return NULL;
	row = row_at(recovery, recovery->row_count++);
	recovery->places[place] = (__u32)recovery->row_count;
	*(__u64 *)row = key;
	recovery->steps->begin(row + sizeof(__u64));
	return row;
}

static int take_block(struct recovery *recovery, const unsigned char *entries, size_t count)
{
	__u64 keys[BLOCK], places[BLOCK];

	for (size_t i = 0; i < count; i++) {
		keys[i] = recovery->steps->key(entries + i * recovery->stride);
		places[i] = mixed(keys[i]) & recovery->place_mask;
		__builtin_prefetch(&recovery->places[places[i]]);
	}
	for (size_t i = 0; i < count; i++) {
		const __u32 row = recovery->places[places[i]];

		__builtin_prefetch(row_at(recovery, row ? row - 1 : recovery->row_count));
	}
	for (size_t i = 0; i < count; i++) {
		unsigned char *row = row_of(recovery, keys[i], places[i]);

		if (!row) {
			log_error(
				"cannot recover more than %llu keys: the files have grown since they were counted; run `recover` again",
				(unsigned long long)recovery->row_count);
			return -ECANCELED;
		}
		recovery->steps->step(row + sizeof(__u64), entries + i * recovery->stride);
	}
	return 0;
}

int recovery_take(void *context, const unsigned char *entries, size_t count)
{
	struct recovery *recovery = context;
	int err = 0;

	for (size_t at = 0; !err && at < count; at += BLOCK)
		err = take_block(recovery, entries + at * recovery->stride,
				 count - at < BLOCK ? count - at : BLOCK);
	return err;
}
