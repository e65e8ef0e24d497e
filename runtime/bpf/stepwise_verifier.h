/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Limits the number of paths that the verifier follows: hides values that it should not tell apart,
 * and marks places where paths meet. All of this costs a processor next to nothing.
 */
#ifndef STEPWISE_VERIFIER_H
#define STEPWISE_VERIFIER_H

#include "bpf/stepwise_c.h"

/*
 * A member of a struct on the stack, of at most four bytes, whose value the verifier does not know.
 * The verifier tracks a value that is spilled to a slot of the stack, but not in the upper half of
 * the slot. So code that depends on the value is verified once, and not once for every constant
 * that it may hold.
 */
#define STEPWISE_HIDDEN(type, name) \
	struct {                    \
		__u32 lower;        \
		type value;         \
	} __attribute__((aligned(8))) name

/* Hides all members up to the end of the eight bytes that start here. */
#define STEPWISE_HIDES(number) __u8 lower_##number __attribute__((aligned(8)))

/*
 * Marks a place where paths meet. The verifier compares its state with earlier states here, and
 * stops if they match. It would do so at the next branch anyway. No instruction is left of it.
 */
static __always_inline void stepwise_join(void)
{
#ifdef __bpf__
	asm volatile("goto +0");
#endif
}

/*
 * Returns the same bits, which clang does not know to be the same. So each loop over them tests
 * them anew. Otherwise clang would keep the outcomes of one loop's tests for the next loop, and the
 * verifier would follow every combination of them.
 */
static __always_inline __u64 stepwise_apart(__u64 bits)
{
#ifdef __bpf__
	asm volatile("" : "+r"(bits));
#endif
	return bits;
}

/* Returns the same value, hidden from the verifier. */
static __always_inline __u32 stepwise_hide(__u32 value)
{
#ifdef __bpf__
	STEPWISE_HIDDEN(volatile __u32, slot);

	asm volatile("" : : "r"(&slot)); /* else clang gives the value its own slot */
	slot.value = value;
	value = slot.value;
	stepwise_join();
#endif
	return value;
}

/*
 * Like stepwise_hide(), also for a value that the verifier knows to be zero: the verifier
 * recognises zero in any part of a slot. (A value whose bits are all known to be set stays known.)
 */
static __always_inline __u32 stepwise_hide_zero(__u32 value)
{
#ifdef __bpf__
	STEPWISE_HIDDEN(volatile __u32, slot);

	asm volatile("" : : "r"(&slot));
	slot.value = ~value;
	value = ~slot.value;
	stepwise_join();
#endif
	return value;
}

#endif
