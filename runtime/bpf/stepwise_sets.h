/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Sets whose items lie in one integer, the first lowest: looked through all at
 * once, without a loop or a branch. `bits` of an item and `size`, the most items,
 * are constants; unused items are zero; there is more than one item.
 */
#ifndef STEPWISE_SETS_H
#define STEPWISE_SETS_H

#include "bpf/stepwise_c.h"

/* One in every item. */
static __always_inline __u64 stepwise_packed_ones(__u32 bits, __u32 size)
{
	__u64 ones = 0;

	STEPWISE_UNROLL
	for (__u32 i = 0; i < size; i++)
		ones |= 1ULL << bits * i;
	return ones;
}

/*
 * Nonzero where the element is one of the items; the lowest bit set is then the
 * highest bit of its place. Subtracting one borrows from an item that is zero, and
 * unused items are made to differ from every element.
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

/* Whether the element is the only item, by one branch. */
static __always_inline bool stepwise_packed_is_only(__u64 items, __u32 count, __u64 element)
{
	return !((items ^ element) | (count ^ 1));
}

/* Without the item that stepwise_packed_find() found; the ones above it move down. */
static __always_inline __u64 stepwise_packed_cut(__u64 items, __u64 found, __u32 bits)
{
	const __u64 below = ((found & -found) >> (bits - 1)) - 1;

	return (items & below) | (items >> bits & ~below);
}

/*
 * 1 for equal integers and for smaller ones, else 0, without a branch for the
 * verifier to follow on both sides. The operands have less than 64 bits.
 */
static __always_inline __u64 stepwise_equal_bit(__u64 left, __u64 right)
{
	__u64 difference = left ^ right;

	asm("" : "+r"(difference)); /* else clang makes it a branch again */
	return (difference - 1) >> 63;
}

/* Of operands that may have all 64 bits. */
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

/* The other bit; likewise. */
static __always_inline __u64 stepwise_not_bit(__u64 bit)
{
	asm("" : "+r"(bit));
	return bit ^ 1;
}

/* The value where the bit is 1, else 0; likewise. (The verifier would follow a mask of the bit on
 * both sides, too.) */
static __always_inline __u64 stepwise_where(__u64 bit, __u64 value)
{
	asm("" : "+r"(bit));
	return bit * value;
}

/* The one value where the bit is 1, else the other; likewise. */
static __always_inline __u64 stepwise_choose(__u64 bit, __u64 then, __u64 otherwise)
{
	return otherwise + stepwise_where(bit, then - otherwise);
}

/* An index that clang takes for anything, so that the check of its bound stays for the verifier to
 * see. */
static __always_inline __u32 stepwise_index(__u32 index)
{
	asm("" : "+r"(index));
	return index;
}

/*
 * Whether an index is in bounds, for the verifier to see. To clang the check and
 * the index that is used after it are one piece: else it may use what it keeps on
 * the stack and check a copy, which older kernels (6.1) do not know to be the same.
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
 * Where the item of an index from 1 lies in an array of `size`, a constant. The index is in range;
 * this shows the verifier that it is, without a branch where it can.
 */
static __always_inline __u32 stepwise_position(__u32 index, __u32 size)
{
	__u64 position = stepwise_index(index - 1);

	if (!(size & (size - 1)))
		return position & (size - 1);
	return stepwise_in_bounds(&position, size) ? position : 0;
}

#endif
