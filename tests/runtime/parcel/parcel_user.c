/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <string.h>

#include "parcel.h"
#include "stepwise.h"
#include "parcel.skel.h" /* the types of the headers before it */

enum {
	SHELF,
	TAIL,
};

/* In the parcel's place there is another now. */
static bool reserve(__u64 *word, __u64 length, __u8 *generation)
{
	__u64 before = *(volatile __u64 *)word,
	      after = PARCEL_WORD(PARCEL_GENERATION(before) + 1, length);

	*generation = PARCEL_GENERATION(after);
	return __sync_bool_compare_and_swap(word, before, after);
}

static enum stepwise_verdict keep(const struct stepwise_tables *tables, unsigned char *payload,
				  size_t *size)
{
	const __u32 index = payload[PARCEL_WIRE_INDEX],
		    tail_size = parcel_message_tail_size(payload);
	__u64 *word = stepwise_cell(tables, SHELF, index);
	struct parcel_bytes *kept = stepwise_cell(tables, TAIL, index);

	if (!word || !kept || *size != PARCEL_WIRE_SIZE + tail_size ||
	    !reserve(word, tail_size, &payload[PARCEL_WIRE_GENERATION]))
		return STEPWISE_DROP;
	memcpy(kept->bytes, payload + PARCEL_WIRE_SIZE, tail_size);
	payload[PARCEL_WIRE_KIND] = PARCEL_KEPT;
	*size = PARCEL_WIRE_SIZE;
	return STEPWISE_REPLY;
}

static enum stepwise_verdict fetch(const struct stepwise_tables *tables, unsigned char *payload,
				   size_t *size)
{
	const __u32 index = payload[PARCEL_WIRE_INDEX],
		    tail_size = parcel_message_tail_size(payload);
	const __u64 *word = stepwise_cell(tables, SHELF, index);
	const struct parcel_bytes *kept = stepwise_cell(tables, TAIL, index);

	if (!word || !kept || *size != PARCEL_WIRE_SIZE)
		return STEPWISE_DROP;
	memcpy(payload + PARCEL_WIRE_SIZE, kept->bytes, tail_size);
	payload[PARCEL_WIRE_KIND] = PARCEL_FETCHED;
	payload[PARCEL_WIRE_GENERATION] = PARCEL_GENERATION(*(const volatile __u64 *)word);
	*size = PARCEL_WIRE_SIZE + tail_size;
	return STEPWISE_REPLY;
}

static enum stepwise_verdict on_forwarded(const struct stepwise_tables *tables,
					  const struct stepwise_environment *environment,
					  unsigned char *payload, size_t *size)
{
	(void)environment;
	switch (payload[PARCEL_WIRE_KIND]) {
	case PARCEL_KEEP:
		return keep(tables, payload, size);
	case PARCEL_FETCH:
		return fetch(tables, payload, size);
	default:
		return STEPWISE_DROP;
	}
}

static enum stepwise_verdict run_xdp(const struct stepwise_tables *tables,
				     const struct stepwise_environment *environment,
				     unsigned char *payload, size_t *size)
{
	const __u32 index = payload[PARCEL_WIRE_INDEX];

	(void)environment;
	if (*size != PARCEL_WIRE_SIZE + parcel_message_tail_size(payload) ||
	    index >= PARCEL_CAPACITY)
		return STEPWISE_DROP;
	switch (payload[PARCEL_WIRE_KIND]) {
	case PARCEL_ECHO:
		payload[PARCEL_WIRE_KIND] = PARCEL_ECHOED;
		return STEPWISE_REPLY;
	case PARCEL_FETCH:
		stepwise_write(payload + PARCEL_WIRE_LENGTH, 2,
			       PARCEL_LENGTH(((volatile __u64 *)tables->memory[SHELF])[index]));
	}
	return STEPWISE_FORWARD;
}

static enum stepwise_verdict run_tc(const struct stepwise_tables *tables,
				    const struct stepwise_environment *environment,
				    unsigned char *payload, size_t *size)
{
	(void)tables;
	(void)environment;
	(void)size;
	payload[PARCEL_WIRE_KIND] |= PARCEL_COMPLETED;
	return STEPWISE_REPLY;
}

static const struct stepwise_table tables[] = {
	[SHELF] = {
		.name = "shelf",
		.capacity = PARCEL_CAPACITY,
		.element_size = sizeof(__u64),
		.mmapable = true,
		.user_reads = STEPWISE_USER_STEPS,
	},
	[TAIL] = {
		.name = "tail",
		.capacity = PARCEL_CAPACITY,
		.element_size = sizeof(struct parcel_bytes),
		.mmapable = true,
		.user_reads = STEPWISE_USER_STEPS,
	},
};

static const char *const counters[] = { "foreign",	"malformed",   "malformed.checksum",
					"echoed",	"forwarded",   "tc.foreign",
					"tc.malformed", "tc.stranger", "completed" };

const struct stepwise_protocol stepwise_protocol = {
	.name = "parcel",
	.port = PARCEL_PORT,
	.compares_addresses = true,
	.wire_size = PARCEL_WIRE_SIZE,
	.tail_max = PARCEL_TAIL_MAX,
	.layout_id = 0x5678,
	.tables = tables,
	.table_count = 2,
	.counters = counters,
	.counter_count = PARCEL_COUNTERS,
	.xdp_program = "parcel_xdp",
	.tc_program = "parcel_tc",
	.on_forwarded = on_forwarded,
	.run_xdp = run_xdp,
	.run_tc = run_tc,
	.object = parcel_bpf__elf_bytes,
};
