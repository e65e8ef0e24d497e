/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* A workload for the tests: each slot sends a number that counts up, and looks whether the same comes back. */
#ifndef ECHO_BENCH_H
#define ECHO_BENCH_H

#include "slots.h"

#define BENCH_PORT_SERVER 20999
#define BENCH_PAYLOAD_SIZE 20

static __always_inline __u32 bench_next_request(struct bench_slot *slot, const __u64 *parameters, unsigned char *payload)
{
	__u64 *number = (__u64 *)payload;
	const __u32 outcome = *number == slot->state[0] ? 0 : 1;

	slot->state[0] += parameters[0];
	*number = slot->state[0];
	return outcome;
}

#endif
