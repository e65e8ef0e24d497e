/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <string.h>

#include "echo.h"
#include "echo.skel.h"
#include "stepwise.h"

#ifdef ECHO_SPIN_LOCK
#define ELEMENT_SIZE 16
#define MMAPABLE false
#define USER_READS STEPWISE_USER_READS_NOTHING
#else
#define ELEMENT_SIZE 8
#define MMAPABLE true
#define USER_READS STEPWISE_USER_READS_TABLE
#endif

static enum stepwise_verdict on_forwarded(const struct stepwise_tables *tables, const struct stepwise_environment *environment,
					  unsigned char *payload)
{
	const volatile __u64 *cells = tables->memory[0];
	struct echo_message message;

	memcpy(&message, payload, sizeof(message));
	if (message.kind != ECHO_ASK || !environment->now_ns)
		return STEPWISE_DROP;
	message.kind = ECHO_TOLD;
	message.index = 0;
	message.value = 0;
	while (cells && message.index < ECHO_CAPACITY && !cells[message.index])
		message.index++;
	if (cells && message.index < ECHO_CAPACITY)
		message.value = cells[message.index];
	memcpy(payload, &message, sizeof(message));
	return STEPWISE_REPLY;
}

#ifndef ECHO_SPIN_LOCK
static enum stepwise_verdict run_xdp(const struct stepwise_tables *tables, const struct stepwise_environment *environment, unsigned char *payload)
{
	struct echo_message message;

	(void)environment;
	memcpy(&message, payload, sizeof(message));
	if (message.kind != ECHO_ADD)
		return STEPWISE_FORWARD;
	if (message.index >= ECHO_CAPACITY)
		return STEPWISE_DROP;
	message.value = __atomic_add_fetch((__u64 *)tables->memory[0] + message.index, message.value, __ATOMIC_SEQ_CST);
	message.kind = ECHO_ADDED;
	memcpy(payload, &message, sizeof(message));
	return STEPWISE_REPLY;
}

static enum stepwise_verdict run_tc(const struct stepwise_tables *tables, const struct stepwise_environment *environment, unsigned char *payload)
{
	(void)tables;
	(void)environment;
	payload[0] = ECHO_COMPLETED;
	return STEPWISE_REPLY;
}
#endif

static const struct stepwise_table tables[] = {
	{ "cell", ECHO_CAPACITY, ELEMENT_SIZE, MMAPABLE, USER_READS },
};

static const char *const counters[] = { "foreign", "added", "forwarded", "completed" };

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
	.on_forwarded = on_forwarded,
#ifndef ECHO_SPIN_LOCK
	.run_xdp = run_xdp,
	.run_tc = run_tc,
#endif
	.object = echo_bpf__elf_bytes,
};
