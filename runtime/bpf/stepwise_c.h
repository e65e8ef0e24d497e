/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The little C that generated code needs everywhere: in BPF programs, in the
 * daemon and in clients.
 */
#ifndef STEPWISE_C_H
#define STEPWISE_C_H

#include <stdbool.h>
#include <linux/types.h>

/* <linux/stddef.h> has a weaker one: BPF code must be inlined to stay in registers. */
#undef __always_inline
#define __always_inline inline __attribute__((always_inline))

/* Before a loop of few iterations over what shall stay in registers. */
#ifdef __clang__
#define STEPWISE_UNROLL _Pragma("unroll")
#else
#define STEPWISE_UNROLL
#endif

/* An element of a table each of whose words has a cache line of its own, so that writers of two do
 * not wait for one another. */
struct stepwise_lined_word {
	__u64 word;
} __attribute__((aligned(64)));

/*
 * Division that rounds down, as TLA+ has it, of a dividend that may be negative.
 * Unsigned underneath: BPF has no signed division before its fourth version.
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
