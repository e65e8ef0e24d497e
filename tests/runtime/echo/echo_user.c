/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <string.h>

#include "echo.h"
#include "stepwise.h"
#include "echo.skel.h" /* the types of the headers before it */

#ifdef ECHO_SPIN_LOCK
#define MMAPABLE false
#define USER_READS STEPWISE_USER_READS_CELL
#else
#define MMAPABLE true
#define USER_READS STEPWISE_USER_READS_TABLE
#endif

#ifdef ECHO_SPIN_LOCK
/* The cell that was asked for. */
static bool find(const struct stepwise_tables *tables, struct echo_message *message)
{
	struct echo_element element;

	if (!stepwise_read_cell(tables, 0, message->index, &element))
		return false;
	message->value = element.value;
	return true;
}
#else
/* The first cell that is not zero. */
static bool find(const struct stepwise_tables *tables, struct echo_message *message)
{
	const volatile struct echo_element *cells = tables->memory[0];

	message->index = 0;
	while (message->index < ECHO_CAPACITY && !cells[message->index].value)
		message->index++;
	message->value = message->index < ECHO_CAPACITY ? cells[message->index].value : 0;
	return true;
}
#endif

static enum stepwise_verdict on_forwarded(const struct stepwise_tables *tables,
					  const struct stepwise_environment *environment,
					  unsigned char *payload, size_t *size)
{
	struct echo_message message;

	(void)size;
	memcpy(&message, payload, sizeof(message));
	if (message.kind != ECHO_ASK || !environment->now_ns || !find(tables, &message))
		return STEPWISE_DROP;
	message.kind = ECHO_TOLD;
	memcpy(payload, &message, sizeof(message));
	return STEPWISE_REPLY;
}

static enum stepwise_verdict run_xdp(const struct stepwise_tables *tables,
				     const struct stepwise_environment *environment,
				     unsigned char *payload, size_t *size)
{
	struct echo_message message;

	(void)environment;
	(void)size;
	memcpy(&message, payload, sizeof(message));
	if (message.kind != ECHO_ADD)
		return STEPWISE_FORWARD;
	if (message.index >= ECHO_CAPACITY)
		return STEPWISE_DROP;
	message.value =
		__atomic_add_fetch(&((struct echo_element *)tables->memory[0])[message.index].value,
				   message.value, __ATOMIC_SEQ_CST);
	message.kind = ECHO_ADDED;
	memcpy(payload, &message, sizeof(message));
	return STEPWISE_REPLY;
}

static enum stepwise_verdict run_tc(const struct stepwise_tables *tables,
				    const struct stepwise_environment *environment,
				    unsigned char *payload, size_t *size)
{
	(void)tables;
	(void)environment;
	(void)size;
	payload[0] = ECHO_COMPLETED;
	return STEPWISE_REPLY;
}

static const struct stepwise_table tables[] = {
	{
		.name = "cell",
		.capacity = ECHO_CAPACITY,
		.element_size = sizeof(struct echo_element),
		.mmapable = MMAPABLE,
		.user_reads = USER_READS,
	},
};

static const char *const counters[] = {
	"foreign", "added", "forwarded", "completed",
#ifdef ECHO_AHEAD
	"ahead",
#endif
};

static const struct stepwise_pass passes[] = {
	{ "echo_sweep_1", 0 },
	{ "echo_sweep_2", 0 },
};

const struct stepwise_protocol stepwise_protocol = {
	.name = "echo",
	.port = ECHO_PORT,
	.wire_size = sizeof(struct echo_message),
	.sweep_size = sizeof(struct echo_sweep),
	.sweep_period_ms = 50,
	.layout_id = ECHO_LAYOUT,
	.tables = tables,
	.table_count = 1,
	.counters = counters,
	.counter_count = ECHO_COUNTERS,
	.passes = passes,
	.pass_count = 2,
	.xdp_program = "echo_xdp",
	.tc_program = "echo_tc",
#ifdef ECHO_AHEAD
	.ahead_program = "echo_ahead",
#endif
	.on_forwarded = on_forwarded,
	.run_xdp = run_xdp,
	.run_tc = run_tc,
	.object = echo_bpf__elf_bytes,
};
