/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * How a section gets its cell for itself, and how a hook ends: the same source in
 * BPF programs and in userspace.
 *
 * A hook's end is an outcome whose leaf is replaced by the number of a counter.
 */
#ifndef STEPWISE_HOOKS_H
#define STEPWISE_HOOKS_H

#include "bpf/stepwise_steps.h"
#include "bpf/stepwise_verifier.h"

#ifndef STEPWISE_ATTEMPTS
#define STEPWISE_ATTEMPTS 4 /* compare-and-swaps before a section counts as contended */
#endif

#define STEPWISE_SKIPPED 16u /* in an end: a section on the way was contended and left out */

/* In userspace what is read after it is read after it; a program has that of the swaps before. */
static __always_inline __u64 stepwise_load(const __u64 *word)
{
#ifdef __bpf__
	return *(const volatile __u64 *)word;
#else
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
#endif
}

/* Whether the word still was `before`, and now is `after`. */
static __always_inline bool stepwise_compare_and_swap(__u64 *word, __u64 before, __u64 after)
{
	return __sync_bool_compare_and_swap(word, before, after);
}

/*
 * Attempts after the first, which was lost, until one returns nonzero. Rare, so
 * out of line; and for the verifier, one attempt to follow however many there are.
 * The flags are zero, but hidden from the verifier: where it sees that, it writes the
 * loop out, which takes 24 bytes of a stack that is scarce.
 */
static __always_inline void stepwise_retry(long (*attempt)(__u32 number, void *context),
					   void *context)
{
#ifdef __bpf__
	__u64 flags = (unsigned long)context;

	asm volatile("%0 -= %1" : "+r"(flags) : "r"(context));
	bpf_loop(STEPWISE_ATTEMPTS - 1, attempt, context, flags);
#else
	for (__u32 number = 0; number < STEPWISE_ATTEMPTS - 1; number++)
		if (attempt(number, context))
			break;
#endif
}

static __always_inline __u32 stepwise_end(enum stepwise_verdict verdict, __u32 counter)
{
	return (__u32)verdict | counter << STEPWISE_LEAF_SHIFT;
}

/* `first`: of the hook's counters, from which leaves are counted. */
static __always_inline __u32 stepwise_end_at_leaf(__u32 outcome, __u32 first)
{
	return outcome + (first << STEPWISE_LEAF_SHIFT);
}

static __always_inline __u32 stepwise_counter(__u32 end)
{
	return end >> STEPWISE_LEAF_SHIFT;
}

static __always_inline bool stepwise_is_skipped(__u32 end)
{
	return end & STEPWISE_SKIPPED;
}

#endif
