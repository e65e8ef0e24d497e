/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * How a section gets its cell for itself, and how the end of a hook is counted:
 * the same source in BPF programs and in userspace (words only there).
 */
#ifndef STEPWISE_HOOKS_H
#define STEPWISE_HOOKS_H

#include "bpf/stepwise_steps.h"

#ifndef STEPWISE_ATTEMPTS
#define STEPWISE_ATTEMPTS 4 /* compare-and-swaps before a section counts as contended */
#endif

static __always_inline __u64 stepwise_load(const __u64 *word)
{
	return *(const volatile __u64 *)word;
}

/* Whether the word still was `before`, and now is `after`. */
static __always_inline bool stepwise_compare_and_swap(__u64 *word, __u64 before, __u64 after)
{
	return __sync_bool_compare_and_swap(word, before, after);
}

/* `counters` is this CPU's array; NULL in userspace, where nothing is counted. */
static __always_inline void stepwise_count(__u64 *counters, __u32 counter)
{
	if (!counters)
		return;
	counters[counter]++;
	/*
	 * Keeps clang from merging the increments of several leaves into one with
	 * a variable index, which the verifier would have to follow for each leaf
	 * to the end of the program.
	 */
	asm volatile("" : : "r"(counter) : "memory");
}

/* Counts the leaf that ended a hook, and says what becomes of the packet. */
static __always_inline enum stepwise_verdict stepwise_end(__u64 *counters, __u32 first, __u32 outcome)
{
	stepwise_count(counters, first + stepwise_leaf(outcome));
	return stepwise_verdict(outcome) == STEPWISE_CONTINUE ? STEPWISE_DROP : stepwise_verdict(outcome);
}

#endif
