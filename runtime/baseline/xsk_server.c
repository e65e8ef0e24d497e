/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The same generated steps over one AF_XDP socket. The fast path is measured against it: packets
 * bypass the kernel's stack here too, but userspace answers them. One thread serves one receive
 * queue, and sleeps while no packets come. The process that starts it made the map of sockets, by
 * which XDP passes packets to it.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>

#include "base/clock.h"
#include "base/log.h"
#include "baseline/userspace_steps.h"
#include "net/frame_reply.h"
#include "net/xsk_endpoint.h"

#define EXIT_USAGE 2
#define BUFFER_BYTES (4 << 20)

static const struct stepwise_protocol *const protocol = &stepwise_protocol;

static void serve_batch(struct endpoint *endpoint, struct daemon_statistics *statistics)
{
	struct stepwise_environment environment = { .now_ns = clock_now_ns(),
						    .age_ns = ~0ull,
						    .cpu = sched_getcpu() };
	const size_t count = endpoint->operations->receive(endpoint, statistics);

	for (size_t i = 0; i < count; i++) {
		struct endpoint_datagram *datagram = &endpoint->datagrams[i];

		const struct in6_addr source = frame_source(datagram->frame);

		if (userspace_steps_decide(&source, datagram->payload, &datagram->size,
					   &environment))
			endpoint->operations->reply(endpoint, i);
	}
	endpoint->operations->flush(endpoint, statistics);
	userspace_steps_drain();
}

static bool parse_number(const char *text, unsigned int *value)
{
	char *end;

	*value = strtoul(text, &end, 10);
	return *text && !*end;
}

int main(int count, char **values)
{
	struct daemon_statistics statistics = {};
	struct xsk_queue queue = {};
	struct endpoint *endpoint;
	unsigned int sockets_fd;
	int sender_fd;
	char name[64];
	int err;

	snprintf(name, sizeof(name), "%s-frames", protocol->name);
	log_open(name, LOG_LEVEL_INFO);
	if (count != 4 || !parse_number(values[1], &queue.ifindex) ||
	    !parse_number(values[2], &queue.number) || !parse_number(values[3], &sockets_fd)) {
		fprintf(stderr, "usage: %s INTERFACE_INDEX QUEUE FD_OF_SOCKETS\n", name);
		return EXIT_USAGE;
	}
	if (!userspace_steps_fit(ENDPOINT_PAYLOAD_BYTES_MAX)) {
		log_error(
			"cannot serve %s from userspace: its hooks were not generated as plain functions, or its messages have up to %u bytes",
			protocol->name, protocol->wire_size + protocol->tail_max);
		return 1;
	}
	err = userspace_steps_open();
	if (err) {
		log_error("cannot allocate the tables of %s: %s", protocol->name, strerror(-err));
		return 1;
	}
	sender_fd = frame_sender_open();
	endpoint = sender_fd < 0 ? NULL : xsk_endpoint_open(&queue, sender_fd, BUFFER_BYTES);
	if (!endpoint ||
	    bpf_map_update_elem((int)sockets_fd, &queue.number, &endpoint->fd, BPF_ANY)) {
		log_error("cannot open an AF_XDP socket on queue %u of interface %u: %s",
			  queue.number, queue.ifindex, strerror(errno));
		return 1;
	}
	printf("READY %s interface %u pid %d\n", protocol->name, queue.ifindex, (int)getpid());
	fflush(stdout);
	/* Runs until a signal ends the process. */
	for (;;) {
		struct pollfd waiting = { .fd = endpoint->fd, .events = POLLIN };

		if (poll(&waiting, 1, -1) < 0 && errno != EINTR)
			return 1;
		serve_batch(endpoint, &statistics);
	}
}
