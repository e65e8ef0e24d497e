/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Runs many cases through one loaded program: writes the cells, runs, and reads the cells back. It
 * knows only file descriptors and offsets; the Python that loads it (kernel.py) knows the meaning
 * of the bytes. It is in C because a case takes some thirty system calls.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/bpf.h>

#define COUNTERS_BYTES_MAX (1 << 20)

/* A watched cell, which is at `offset` of a case's image. */
struct conform_watch {
	int32_t map_fd;
	uint32_t offset;
	uint32_t size;
};

struct conform_batch {
	int32_t program_fd;
	int32_t counters_fd;
	uint32_t counters_stride; /* bytes of one CPU's counters in a lookup */
	uint32_t cpu_count;
	uint32_t watch_count;
	uint32_t image_size;  /* bytes of a case's image: all watched cells */
	uint32_t packet_size; /* bytes between two packets */
	uint32_t environment_size;
	const struct conform_watch *watches;
	uint8_t *environment; /* the program's variables, mapped */
	uint8_t clear;	      /* zero the cells again after each case */
};

struct conform_outcome {
	int32_t verdict;
	uint32_t length;	/* of the packet that came out */
	uint32_t counter;	/* the highest that rose; UINT32_MAX for none */
	uint32_t first_counter; /* the lowest that rose */
	uint32_t rises;		/* the sum of all counters' rises */
};

static long bpf(enum bpf_cmd command, union bpf_attr *attributes)
{
	return syscall(SYS_bpf, command, attributes, sizeof(*attributes));
}

static int map_access(enum bpf_cmd command, int map_fd, uint32_t index, const void *value)
{
	union bpf_attr attributes;

	memset(&attributes, 0, sizeof(attributes));
	attributes.map_fd = map_fd;
	attributes.key = (uintptr_t)&index;
	attributes.value = (uintptr_t)value;
	return bpf(command, &attributes) ? -errno : 0;
}

static int access_cells(const struct conform_batch *batch, enum bpf_cmd command,
			const uint32_t *indexes, uint8_t *image)
{
	for (uint32_t at = 0; at < batch->watch_count; at++) {
		const struct conform_watch *watch = &batch->watches[at];
		int err = map_access(command, watch->map_fd, indexes[at], image + watch->offset);

		if (err)
			return err;
	}
	return 0;
}

static int read_counters(const struct conform_batch *batch, uint64_t *totals)
{
	static uint8_t values[COUNTERS_BYTES_MAX];
	uint32_t count = batch->counters_stride / sizeof(uint64_t);
	int err = map_access(BPF_MAP_LOOKUP_ELEM, batch->counters_fd, 0, values);

	if (err)
		return err;
	memset(totals, 0, count * sizeof(uint64_t));
	for (uint32_t cpu = 0; cpu < batch->cpu_count; cpu++)
		for (uint32_t at = 0; at < count; at++) {
			uint64_t value;

			memcpy(&value, values + cpu * batch->counters_stride + at * sizeof(value),
			       sizeof(value));
			totals[at] += value;
		}
	return 0;
}

static void compare_counters(const uint64_t *before, const uint64_t *after, uint32_t count,
			     struct conform_outcome *outcome)
{
	outcome->counter = outcome->first_counter = UINT32_MAX;
	outcome->rises = 0;
	for (uint32_t at = 0; at < count; at++)
		if (after[at] != before[at]) {
			if (!outcome->rises)
				outcome->first_counter = at;
			outcome->counter = at;
			outcome->rises += after[at] - before[at];
		}
}

static int run_program(const struct conform_batch *batch, const uint8_t *packet, uint32_t length,
		       uint8_t *packet_out, struct conform_outcome *outcome)
{
	union bpf_attr attributes;

	memset(&attributes, 0, sizeof(attributes));
	attributes.test.prog_fd = batch->program_fd;
	attributes.test.data_in = (uintptr_t)packet;
	attributes.test.data_size_in = length;
	attributes.test.data_out = (uintptr_t)packet_out;
	attributes.test.data_size_out = batch->packet_size;
	attributes.test.repeat = 1;
	if (bpf(BPF_PROG_TEST_RUN, &attributes))
		return -errno;
	outcome->verdict = (int32_t)attributes.test.retval;
	outcome->length = attributes.test.data_size_out;
	return 0;
}

/*
 * indexes: watch_count for each case. environments: environment_size bytes for each case. Returns 0
 * or a negative error; then *failed is the case's number.
 */
int conform_run(const struct conform_batch *batch, uint32_t count, const uint32_t *indexes,
		uint8_t *images, const uint8_t *environments, const uint8_t *packets,
		const uint32_t *lengths, uint8_t *packets_out, struct conform_outcome *outcomes,
		uint32_t *failed)
{
	static uint64_t totals[2][COUNTERS_BYTES_MAX / sizeof(uint64_t)];
	static uint8_t zeros[1 << 16];
	uint32_t counter_count = batch->counters_stride / sizeof(uint64_t);
	int err;

	if ((uint64_t)batch->counters_stride * batch->cpu_count > COUNTERS_BYTES_MAX ||
	    batch->image_size > sizeof(zeros))
		return -E2BIG;
	err = read_counters(batch, totals[0]);
	for (uint32_t at = 0; at < count && !err; at++) {
		const uint32_t *where = indexes + (size_t)at * batch->watch_count;
		uint8_t *image = images + (size_t)at * batch->image_size;
		size_t packet = (size_t)at * batch->packet_size;

		*failed = at;
		memcpy(batch->environment, environments + (size_t)at * batch->environment_size,
		       batch->environment_size);
		err = access_cells(batch, BPF_MAP_UPDATE_ELEM, where, image);
		if (!err)
			err = run_program(batch, packets + packet, lengths[at],
					  packets_out + packet, &outcomes[at]);
		if (!err)
			err = access_cells(batch, BPF_MAP_LOOKUP_ELEM, where, image);
		if (!err && batch->clear)
			err = access_cells(batch, BPF_MAP_UPDATE_ELEM, where, zeros);
		if (!err)
			err = read_counters(batch, totals[(at + 1) % 2]);
		compare_counters(totals[at % 2], totals[(at + 1) % 2], counter_count,
				 &outcomes[at]);
	}
	return err;
}

/* Counts the elements of an array map that are not all zero. Returns a negative error if the map
 * cannot be read. */
int64_t conform_nonzero(int32_t map_fd, uint32_t capacity, uint32_t value_size)
{
	static uint8_t value[1 << 16], zeros[1 << 16];
	int64_t found = 0;

	if (value_size > sizeof(value))
		return -E2BIG;
	for (uint32_t index = 0; index < capacity; index++) {
		int err = map_access(BPF_MAP_LOOKUP_ELEM, map_fd, index, value);

		if (err)
			return err;
		found += memcmp(value, zeros, value_size) != 0;
	}
	return found;
}
