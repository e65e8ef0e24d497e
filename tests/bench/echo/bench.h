/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A workload for the tests: each slot sends a number that counts up, and looks whether the same
 * comes back. Parameters: the step; how many numbers to share out instead, each slot adds up its
 * own in its second word; whether to draw, and count what was below 100, below 200, and from there
 * on.
 */
#ifndef ECHO_BENCH_H
#define ECHO_BENCH_H

#include "slots.h"

#define BENCH_PAYLOAD_SIZE 20

static __always_inline __u32 bench_next_request(struct bench_slot *slot, const __u64 *parameters,
						unsigned char *payload)
{
	__u64 *number = (__u64 *)payload;
	const __u32 outcome = *number == slot->state[0] ? 0 : 1;

	if (parameters[1] && bench_share(slot) >= parameters[1])
		return outcome | BENCH_DONE;
	if (parameters[1])
		slot->state[1] += bench_share(slot);
	if (parameters[2]) {
		const __u64 drawn = bench_draw(slot);

		if (drawn < 100)
			slot->state[2]++;
		else if (drawn < 200)
			slot->state[3]++;
		else
			slot->state[4]++;
	}
	slot->state[0] += parameters[0];
	*number = slot->state[0];
	return outcome;
}

#endif
