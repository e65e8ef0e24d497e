/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Basic C that generated code needs in BPF programs, in the daemon and in clients. */
#ifndef STEPWISE_C_H
#define STEPWISE_C_H

#include <stdbool.h>
#include <linux/types.h>

/* The version of <linux/stddef.h> is weaker. BPF code must be inlined to stay in registers. */
#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#ifndef __noinline
#define __noinline __attribute__((noinline))
#endif

/*
 * Goes before a short loop over values that should stay in registers. It is a wish: clang may find
 * a loop's end too hard to compute, or nested loops too long. Then the verifier follows the loop,
 * and the budget shows what that costs.
 */
#ifdef __clang__
#define STEPWISE_UNROLL _Pragma("unroll")
#pragma clang diagnostic ignored "-Wpass-failed"
#else
#define STEPWISE_UNROLL
#endif

/*
 * A table element whose word has its own cache line, so that writers of two words do not wait for
 * each other.
 */
struct stepwise_lined_word {
	__u64 word;
} __attribute__((aligned(64)));

/*
 * Division that rounds down, as in TLA+. The dividend may be negative. The arithmetic is unsigned,
 * because BPF has signed division only from its fourth version on.
 */
static __always_inline __s64 stepwise_floor_div(__s64 dividend, __u64 divisor)
{
	return dividend >= 0 ? (__s64)((__u64)dividend / divisor) :
			       ~(__s64)(~(__u64)dividend / divisor);
}

static __always_inline __s64 stepwise_floor_mod(__s64 dividend, __u64 divisor)
{
	return (__s64)(dividend >= 0 ? (__u64)dividend % divisor :
				       divisor - 1 - ~(__u64)dividend % divisor);
}

#endif
