/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The outcome that a step function returns: one integer with the verdict, a flag for a changed
 * cell, and the leaf where the step ended. Leaves are constants, so clang folds every test of an
 * outcome into the branches.
 */
#ifndef STEPWISE_STEPS_H
#define STEPWISE_STEPS_H

#include "stepwise.h"
#include "bpf/stepwise_c.h"

#define STEPWISE_VERDICT_MASK 3u
#define STEPWISE_CHANGED 4u
#define STEPWISE_LEAF_SHIFT 8

/* Replaces an outcome: the cell was not available, no step ran, and nothing has changed. */
#define STEPWISE_CONTENDED ((__u32)STEPWISE_DROP | 8u)

/*
 * With STEPWISE_COVERAGE, the including file defines `__u64 stepwise_coverage[]`. It counts how
 * often each leaf was reached, and each arm of a choice was taken. The mask shows the verifier that
 * an arm is 0 or 1. clang would leave it out, because it knows that. The empty assembly keeps the
 * counts of two leaves apart, or clang makes one of them whose index is a bool from memory.
 */
#ifdef STEPWISE_COVERAGE
#define STEPWISE_BRANCH(branch)                                     \
	({                                                          \
		stepwise_coverage[branch]++;                        \
		asm volatile("" : : "i"((int)(branch)) : "memory"); \
	})
#define STEPWISE_CHOOSE(branch, condition)                          \
	({                                                          \
		bool stepwise_chosen = (condition);                 \
		__u32 stepwise_arm = !stepwise_chosen;              \
		asm("" : "+r"(stepwise_arm));                       \
		stepwise_coverage[(branch) + (stepwise_arm & 1)]++; \
		stepwise_chosen;                                    \
	})
#else
#define STEPWISE_BRANCH(branch) ((void)0)
#define STEPWISE_CHOOSE(branch, condition) (condition)
#endif

#define STEPWISE_OUTCOME(verdict, leaf) \
	(STEPWISE_BRANCH(leaf), (__u32)(verdict) | (__u32)(leaf) << STEPWISE_LEAF_SHIFT)

#define stepwise_continue(leaf) STEPWISE_OUTCOME(STEPWISE_CONTINUE, leaf)
#define stepwise_reply(leaf) STEPWISE_OUTCOME(STEPWISE_REPLY, leaf)
#define stepwise_forward(leaf) STEPWISE_OUTCOME(STEPWISE_FORWARD, leaf)
#define stepwise_drop(leaf) STEPWISE_OUTCOME(STEPWISE_DROP, leaf)

/* The outcome of a leaf that changed the cell. */
#define stepwise_changed(outcome) ((outcome) | STEPWISE_CHANGED)

static __always_inline enum stepwise_verdict stepwise_verdict(__u32 outcome)
{
	return (enum stepwise_verdict)(outcome & STEPWISE_VERDICT_MASK);
}

static __always_inline bool stepwise_is_changed(__u32 outcome)
{
	return outcome & STEPWISE_CHANGED;
}

#endif
