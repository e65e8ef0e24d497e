/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/bpf.h>
#include <bpf/bpf.h>

#include "base/log.h"
#include "daemon/sweep.h"
#include "state/programs.h"
#include "stepwise_sweep.h"

/* A test run accepts one page of packet, minus the kernel's headroom and tailroom. */
#define PACKET_BYTES_MAX 3072

struct sweep {
	const struct stepwise_protocol *protocol;
	struct daemon_statistics *statistics;
	int *program_fds; /* one per pass */
	bool under_way;
	__u32 pass;
	__u32 first;	 /* cell of the pass to continue from */
	__u64 continued; /* sum over the pass */
	bool failing;	 /* the failure is already reported */
	__u32 packet_size;
	/* A struct stepwise_sweep, followed by the record. */
	_Alignas(8) unsigned char packet[PACKET_BYTES_MAX];
};

struct sweep *sweep_open(const struct stepwise_protocol *protocol,
			 struct daemon_statistics *statistics)
{
	struct sweep *sweep = calloc(1, sizeof(*sweep));

	if (!sweep)
		return NULL;
	sweep->protocol = protocol;
	sweep->statistics = statistics;
	sweep->packet_size = sizeof(struct stepwise_sweep) + protocol->sweep_size;
	if (sweep->packet_size > sizeof(sweep->packet)) {
		log_error(
			"cannot sweep %s: its record has %u bytes, but a test run passes at most %zu",
			protocol->name, protocol->sweep_size,
			sizeof(sweep->packet) - sizeof(struct stepwise_sweep));
		goto failed;
	}
	sweep->program_fds = malloc(protocol->pass_count * sizeof(*sweep->program_fds));
	if (!sweep->program_fds)
		goto failed;
	memset(sweep->program_fds, -1, protocol->pass_count * sizeof(*sweep->program_fds));
	for (__u32 i = 0; i < protocol->pass_count; i++) {
		sweep->program_fds[i] = open_pinned_program(protocol->passes[i].program);
		if (sweep->program_fds[i] < 0)
			goto failed;
	}
	return sweep;
failed:
	sweep_close(sweep);
	return NULL;
}

void sweep_close(struct sweep *sweep)
{
	if (!sweep)
		return;
	for (__u32 i = 0; sweep->program_fds && i < sweep->protocol->pass_count; i++)
		if (sweep->program_fds[i] >= 0)
			close(sweep->program_fds[i]);
	free(sweep->program_fds);
	free(sweep);
}

/* Runs the program of the pass on the packet, and changes the packet in place. */
static int run_program(const struct sweep *sweep, unsigned char *packet)
{
	DECLARE_LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = packet, .data_out = packet,
			    .data_size_in = sweep->packet_size, .data_size_out = sweep->packet_size,
			    .repeat = 1);
	int err = bpf_prog_test_run_opts(sweep->program_fds[sweep->pass], &options);

	if (err)
		return err;
	return options.retval == XDP_PASS && options.data_size_out == sweep->packet_size ? 0 :
											   -EPROTO;
}

bool sweep_may_run(const struct sweep *sweep)
{
	unsigned char packet[PACKET_BYTES_MAX] = {};
	int err = run_program(sweep, packet);

	if (err)
		errno = -err;
	return !err;
}

static void begin_pass(struct sweep *sweep, __u32 pass)
{
	sweep->pass = pass;
	sweep->first = 0;
	sweep->continued = 0;
}

void sweep_begin(struct sweep *sweep)
{
	if (sweep->under_way)
		return;
	sweep->under_way = true;
	memset(sweep->packet, 0, sizeof(sweep->packet));
	begin_pass(sweep, 0);
}

bool sweep_under_way(const struct sweep *sweep)
{
	return sweep->under_way;
}

static enum sweep_wait end_sweep(struct sweep *sweep)
{
	sweep->under_way = false;
	sweep->statistics->sweeps++;
	begin_pass(sweep, 0);
	return SWEEP_DONE;
}

static enum sweep_wait end_pass(struct sweep *sweep)
{
	bool nothing_to_do = sweep->pass == 0 && sweep->continued == 0;

	sweep->statistics->sweep_passes++;
	sweep->statistics->sweep_cells_continued += sweep->continued;
	if (nothing_to_do || sweep->pass + 1 == sweep->protocol->pass_count)
		return end_sweep(sweep);
	begin_pass(sweep, sweep->pass + 1);
	return SWEEP_GRACE;
}

/*
 * The protocol's record is lost with the sweep. The next sweep starts afresh and finds what is
 * left.
 */
static enum sweep_wait fail(struct sweep *sweep, int err)
{
	const char *program = sweep->protocol->passes[sweep->pass].program;

	sweep->statistics->sweep_failed++;
	if (!sweep->failing)
		log_error("cannot run %s on %u cells from %u: %s; trying again every %u ms",
			  program, STEPWISE_SWEEP_CHUNK_MAX, sweep->first, strerror(-err),
			  sweep->protocol->sweep_period_ms);
	sweep->failing = true;
	sweep->under_way = false;
	begin_pass(sweep, 0);
	return SWEEP_DONE;
}

enum sweep_wait sweep_continue(struct sweep *sweep)
{
	const struct stepwise_table *table =
		&sweep->protocol->tables[sweep->protocol->passes[sweep->pass].table];
	struct stepwise_sweep *request = (struct stepwise_sweep *)sweep->packet;
	__u32 count = table->capacity - sweep->first;
	int err;

	if (count > STEPWISE_SWEEP_CHUNK_MAX)
		count = STEPWISE_SWEEP_CHUNK_MAX;
	*request = (struct stepwise_sweep){ .first = sweep->first, .count = count };
	err = run_program(sweep, sweep->packet);
	if (!err && request->visited > count)
		err = -EPROTO;
	if (err)
		return fail(sweep, err);

	sweep->failing = false;
	sweep->first += request->visited;
	sweep->continued += request->continued;
	if (sweep->first == table->capacity)
		return end_pass(sweep);
	if (request->visited == count)
		return SWEEP_READY;
	sweep->statistics->sweep_contended++;
	return request->visited ? SWEEP_READY : SWEEP_CONTENDED;
}
