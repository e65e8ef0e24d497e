/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Sets whose items lie in one integer, the first item lowest. They are searched all at once,
 * without a loop or a branch. `bits` (of an item) and `size` (the maximum number of items, more
 * than one) are constants. Unused items are zero.
 */
#ifndef STEPWISE_SETS_H
#define STEPWISE_SETS_H

#include "bpf/stepwise_c.h"
#include "bpf/stepwise_verifier.h"

/* Returns an integer with a 1 in every item. */
static __always_inline __u64 stepwise_packed_ones(__u32 bits, __u32 size)
{
	__u64 ones = 0;

	STEPWISE_UNROLL
	for (__u32 i = 0; i < size; i++)
		ones |= 1ULL << bits * i;
	return ones;
}

/*
 * Returns nonzero if the element is one of the items. The lowest set bit is then the highest bit of
 * that item. Subtracting one borrows from an item that is zero. Unused items are made different
 * from every element.
 */
static __always_inline __u64 stepwise_packed_find(__u64 items, __u32 count, __u64 element,
						  __u32 bits, __u32 size)
{
	const __u64 ones = stepwise_packed_ones(bits, size);
	__u64 difference = items ^ element * ones;

	if (bits * size < 64 || count < size)
		difference |= ~0ULL << bits * count;
	return (difference - ones) & ~difference & ones << (bits - 1);
}

/* Returns true if the element is the only item. This takes one branch. */
static __always_inline bool stepwise_packed_is_only(__u64 items, __u32 count, __u64 element)
{
	return !((items ^ element) | (count ^ 1));
}

/* Removes the item that stepwise_packed_find() found. The items above it move down. */
static __always_inline __u64 stepwise_packed_cut(__u64 items, __u64 found, __u32 bits)
{
	const __u64 below = ((found & -found) >> (bits - 1)) - 1;

	return (items & below) | (items >> bits & ~below);
}

/*
 * Returns 1 if the integers are equal (stepwise_less_bit(): if the left one is less), else 0. There
 * is no branch, because the verifier would follow both sides of one. The operands have fewer than
 * 64 bits.
 */
static __always_inline __u64 stepwise_equal_bit(__u64 left, __u64 right)
{
	__u64 difference = left ^ right;

	asm("" : "+r"(difference)); /* else clang turns it into a branch again */
	return (difference - 1) >> 63;
}

/* Like stepwise_equal_bit(), for operands of up to 64 bits. */
static __always_inline __u64 stepwise_same_bit(__u64 left, __u64 right)
{
	__u64 difference = left ^ right;

	difference |= -difference;
	asm("" : "+r"(difference));
	return difference >> 63 ^ 1;
}

static __always_inline __u64 stepwise_less_bit(__u64 left, __u64 right)
{
	__u64 difference = left - right;

	asm("" : "+r"(difference));
	return difference >> 63;
}

/* Inverts the bit, without a branch. */
static __always_inline __u64 stepwise_not_bit(__u64 bit)
{
	asm("" : "+r"(bit));
	return bit ^ 1;
}

/*
 * Returns the value if the bit is 1, else 0, without a branch. (It multiplies, because the verifier
 * would also follow both sides of a mask.)
 */
static __always_inline __u64 stepwise_where(__u64 bit, __u64 value)
{
	asm("" : "+r"(bit));
	return bit * value;
}

/* Returns `then` if the bit is 1, else `otherwise`, without a branch. */
static __always_inline __u64 stepwise_choose(__u64 bit, __u64 then, __u64 otherwise)
{
	return otherwise + stepwise_where(bit, then - otherwise);
}

/*
 * Sets of numbers below 64, a bit for each. The functions have no branch, and take any number of
 * fewer than 64 bits: C defines no shift by 64 or more.
 */

/* Returns the set of one number; the empty set if it is not below 64. */
static __always_inline __u64 stepwise_bits_of(__u64 number)
{
	return stepwise_where(stepwise_less_bit(number, 64), 1ULL << (number & 63));
}

/* Returns the set of all numbers below `end`. */
static __always_inline __u64 stepwise_bits_below(__u64 end)
{
	return stepwise_bits_of(end) - 1;
}

/* Does the same for an end that may be negative. */
static __always_inline __u64 stepwise_bits_below_signed(__s64 end)
{
	return stepwise_bits_below(end & ~(end >> 63));
}

/* Adds `by` to each number of a set. */
static __always_inline __u64 stepwise_bits_up(__u64 set, __u64 by)
{
	return stepwise_where(stepwise_less_bit(by, 64), set << (by & 63));
}

/* Subtracts `by` from each number of a set. */
static __always_inline __u64 stepwise_bits_down(__u64 set, __u64 by)
{
	return stepwise_where(stepwise_less_bit(by, 64), set >> (by & 63));
}

/* Adds `by`, which may be negative, to each number of a set. */
static __always_inline __u64 stepwise_bits_moved(__u64 set, __s64 by)
{
	const __u64 down = (__u64)by >> 63, amount = stepwise_choose(down, -(__u64)by, by);

	return stepwise_choose(down, stepwise_bits_down(set, amount),
			       stepwise_bits_up(set, amount));
}

/*
 * Returns whether a loop over the items of a set has gone past the last one. The verifier does not
 * learn the count from it. Otherwise it would follow what comes after once for every count.
 */
static __always_inline bool stepwise_past(__u64 position, __u64 count)
{
	return !stepwise_less_bit(position, count);
}

/* Hides the index from clang, so that the bounds check stays for the verifier. */
static __always_inline __u32 stepwise_index(__u32 index)
{
	asm("" : "+r"(index));
	return index;
}

/*
 * Does the same for the index of an item that is found by comparisons. A constant stays one, so
 * that clang finds the item itself.
 */
static __always_inline __u32 stepwise_compared_index(__u32 index)
{
	return __builtin_constant_p(index) ? index : stepwise_index(index);
}

/*
 * Checks an index against its bound, visibly to the verifier. clang must treat the check and the
 * index that is used after it as one unit. Otherwise it may check a copy and use the index on the
 * stack, and older verifiers (6.1) do not know that the two are equal.
 */
static __always_inline bool stepwise_in_bounds(__u64 *index, __u32 size)
{
#ifdef __bpf__
	asm goto("if %[index] >= %[size] goto %l[outside]"
		 : [index] "+r"(*index)
		 : [size] "i"(size)
		 :
		 : outside);
	return true;
outside:
	return false;
#else
	return *index < size;
#endif
}

/*
 * Returns the position of an index, which counts from 1, in an array of `size` (a constant). The
 * index is in range. This proves it to the verifier, without a branch if `size` is a power of two.
 */
static __always_inline __u32 stepwise_position(__u32 index, __u32 size)
{
	__u64 position = stepwise_index(index - 1);

	if (!(size & (size - 1)))
		return position & (size - 1);
	return stepwise_in_bounds(&position, size) ? position : 0;
}

#endif
