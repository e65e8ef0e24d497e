/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * How many paths the verifier follows: values that it is not to tell apart, and
 * places where paths meet. To a processor all of this is next to nothing.
 */
#ifndef STEPWISE_VERIFIER_H
#define STEPWISE_VERIFIER_H

#include "bpf/stepwise_c.h"

/*
 * A member of a struct on the stack, of at most four bytes, of whose value the
 * verifier knows nothing: it keeps track of what is spilled to a slot of the
 * stack, but not at the upper half of one. What depends on the value is then
 * verified once, and not once for every constant that may be there.
 */
#define STEPWISE_HIDDEN(type, name) \
	struct {                    \
		__u32 lower;        \
		type value;         \
	} __attribute__((aligned(8))) name

/* Likewise, of all members up to the end of the eight bytes that begin here. */
#define STEPWISE_HIDES(number) __u8 lower_##number __attribute__((aligned(8)))

/*
 * Where paths meet again: the verifier compares what it knows with what it knew
 * here before, and need not go on. It would do so at the next branch anyway. No
 * instruction is left of it.
 */
static __always_inline void stepwise_join(void)
{
#ifdef __bpf__
	asm volatile("goto +0");
#endif
}

/* The same value, hidden from the verifier. */
static __always_inline __u32 stepwise_hide(__u32 value)
{
#ifdef __bpf__
	STEPWISE_HIDDEN(volatile __u32, slot);

	asm volatile("" : : "r"(&slot)); /* or clang gives the value a slot of its own */
	slot.value = value;
	value = slot.value;
	stepwise_join();
#endif
	return value;
}

/*
 * Likewise, also where the verifier knows that the value is zero, which it sees in
 * any part of a slot. (A value of which it knows that all bits are set stays known.)
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
