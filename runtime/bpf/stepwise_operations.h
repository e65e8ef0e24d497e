/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The operations of a message: equal parts that follow its fixed part. BPF programs and userspace
 * share this source. The programs go over them in loops whose body the verifier follows once.
 */
#ifndef STEPWISE_OPERATIONS_H
#define STEPWISE_OPERATIONS_H

#include "bpf/stepwise_verifier.h"

/* The operations of the message that is being handled. */
struct stepwise_operations {
	__u64 sum;    /* one's complement sum of all of them, as they came; at an even offset */
	__u64 change; /* of a checksum over them, by what was stored into them; at an even offset */
	__u32 offset; /* of the first one, from the start of the packet */
	bool wrong;   /* whether one of them has a value outside its type */
};

/* Calls a function for 0 to count - 1, until it returns nonzero. */
static __always_inline void
stepwise_for_each(__u32 count, long (*visit)(__u32 number, void *context), void *context)
{
#ifdef __bpf__
	bpf_loop(count, visit, context, 0);
#else
	for (__u32 number = 0; number < count; number++)
		if (visit(number, context))
			break;
#endif
}

/*
 * How many operations one call of a loop's body handles: when it looks at them, and when it runs
 * sections for them. Kernels that guard each return make a call dearer than a short body. The
 * verifier follows the body once for each.
 */
#define STEPWISE_LOOKED_AT_TOGETHER 8u
#define STEPWISE_RUN_TOGETHER 2u

/* The number of calls for so many operations. */
static __always_inline __u32 stepwise_calls(__u32 count, __u32 together)
{
	return (count + together - 1) / together;
}

/*
 * Returns a part's sum or change, as it counts at an offset into the whole. At an odd offset, the
 * two bytes of each 16 bits are swapped, and modulo 2^16 - 1 that is a shift. Many results can be
 * added without an overflow.
 */
static __always_inline __u64 stepwise_sum_at(__u32 offset, __u64 sum)
{
	return offset & 1 ? ((sum & 0xffffffff) + (sum >> 32)) << 8 : sum;
}

#endif
