/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * How a section gets exclusive use of its cell, and how a hook ends. BPF programs and userspace
 * share this source.
 *
 * The end of a hook is an outcome in which a counter's number replaces the leaf.
 */
#ifndef STEPWISE_HOOKS_H
#define STEPWISE_HOOKS_H

#include "bpf/stepwise_steps.h"
#include "bpf/stepwise_verifier.h"

#ifndef STEPWISE_ATTEMPTS
#define STEPWISE_ATTEMPTS 4 /* attempts to swap before a section counts as contended */
#endif

#define STEPWISE_SKIPPED 16u /* flag of an end: a contended section was left out on the way */

/*
 * Acquire load. In BPF a plain load suffices, because earlier compare-and-swaps are full barriers.
 */
static __always_inline __u64 stepwise_load(const __u64 *word)
{
#ifdef __bpf__
	return *(const volatile __u64 *)word;
#else
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
#endif
}

/* Replaces `before` with `after`. Returns false if the word was not `before`. */
static __always_inline bool stepwise_compare_and_swap(__u64 *word, __u64 before, __u64 after)
{
	return __sync_bool_compare_and_swap(word, before, after);
}

/*
 * Repeats an attempt, after the first one was lost, until one returns nonzero. This is rare, so it
 * is out of line. The verifier follows one attempt, however many there are.
 *
 * The flags are zero, but hidden from the verifier. If the verifier knew, it would inline the loop,
 * which takes 24 bytes of the scarce stack.
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

/* `first` is the first of the hook's counters; leaves count from there. */
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
