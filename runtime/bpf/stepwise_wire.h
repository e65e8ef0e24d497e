/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Fields on the wire: big endian, packed, at any offset. A store also returns a one's complement
 * sum, so that a checksum can be corrected by the change.
 */
#ifndef STEPWISE_WIRE_H
#define STEPWISE_WIRE_H

#include "bpf/stepwise_c.h"

#ifdef __bpf__
/* Accesses packets unaligned. The verifier and the CPU allow it, but clang must not know. */
#define STEPWISE_READ(type, from) (*(const type *)(from))
#define STEPWISE_WRITE(type, to, value) (*(type *)(to) = (value))
#else
#define STEPWISE_READ(type, from)                                      \
	({                                                             \
		type stepwise_value;                                   \
		__builtin_memcpy(&stepwise_value, from, sizeof(type)); \
		stepwise_value;                                        \
	})
#define STEPWISE_WRITE(type, to, value)                              \
	({                                                           \
		type stepwise_value = (value);                       \
		__builtin_memcpy(to, &stepwise_value, sizeof(type)); \
	})
#endif

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define STEPWISE_BE16(value) __builtin_bswap16(value)
#define STEPWISE_BE32(value) __builtin_bswap32(value)
#define STEPWISE_BE64(value) __builtin_bswap64(value)
#else
#define STEPWISE_BE16(value) (value)
#define STEPWISE_BE32(value) (value)
#define STEPWISE_BE64(value) (value)
#endif

/*
 * Returns zero, as a value that clang does not know. clang then keeps it where the end of the
 * program expects it. For a constant, clang would write another copy before every branch that may
 * lead there.
 */
static __always_inline __u64 stepwise_zero(void)
{
	__u64 zero = 0;

#ifdef __bpf__
	asm volatile("" : "+r"(zero));
#endif
	return zero;
}

/* Reads a big-endian integer of 1 to 8 bytes. `size` is a constant. */
static __always_inline __u64 stepwise_read(const unsigned char *from, __u32 size)
{
	__u64 value = 0;

	switch (size) {
	case 1:
		return *from;
	case 2:
		return STEPWISE_BE16(STEPWISE_READ(__u16, from));
	case 4:
		return STEPWISE_BE32(STEPWISE_READ(__u32, from));
	case 8:
		return STEPWISE_BE64(STEPWISE_READ(__u64, from));
	}
	STEPWISE_UNROLL
	for (__u32 i = 0; i < 8; i++)
		if (i < size)
			value = value << 8 | from[i];
	return value;
}

static __always_inline void stepwise_write(unsigned char *to, __u32 size, __u64 value)
{
	switch (size) {
	case 1:
		*to = (unsigned char)value;
		return;
	case 2:
		STEPWISE_WRITE(__u16, to, STEPWISE_BE16((__u16)value));
		return;
	case 4:
		STEPWISE_WRITE(__u32, to, STEPWISE_BE32((__u32)value));
		return;
	case 8:
		STEPWISE_WRITE(__u64, to, STEPWISE_BE64(value));
		return;
	}
	STEPWISE_UNROLL
	for (__u32 i = 0; i < 8; i++)
		if (i < size)
			to[i] = (unsigned char)(value >> 8 * (size - 1 - i));
}

/* Reads up to 8 opaque bytes, in memory order. */
static __always_inline __u64 stepwise_read_bytes(const unsigned char *from, __u32 size)
{
	__u64 value = 0;

	if (size == 8)
		return STEPWISE_READ(__u64, from);
	if (size == 4)
		return STEPWISE_READ(__u32, from);
	if (size == 2)
		return STEPWISE_READ(__u16, from);
	STEPWISE_UNROLL
	for (__u32 i = 0; i < 8; i++)
		if (i < size)
			value |= (__u64)from[i] << 8 * i;
	return value;
}

static __always_inline void stepwise_write_bytes(unsigned char *to, __u32 size, __u64 value)
{
	if (size == 8) {
		STEPWISE_WRITE(__u64, to, value);
		return;
	}
	if (size == 4) {
		STEPWISE_WRITE(__u32, to, (__u32)value);
		return;
	}
	if (size == 2) {
		STEPWISE_WRITE(__u16, to, (__u16)value);
		return;
	}
	STEPWISE_UNROLL
	for (__u32 i = 0; i < 8; i++)
		if (i < size)
			to[i] = (unsigned char)(value >> 8 * i);
}

/*
 * Copies `size` bytes. One side is in memory, aligned to `alignment`, which divides the size; both
 * are constants. (A memcpy() would go byte by byte, because the packet's side is not aligned.)
 */
static __always_inline void stepwise_copy(unsigned char *to, const unsigned char *from, __u32 size,
					  __u32 alignment)
{
	STEPWISE_UNROLL
	for (__u32 at = 0; at < size; at += alignment)
		stepwise_write_bytes(to + at, alignment, stepwise_read_bytes(from + at, alignment));
}

/* Clears memory, aligned to `alignment`, which divides the size; both are constants. */
static __always_inline void stepwise_clear(unsigned char *to, __u32 size, __u32 alignment)
{
	STEPWISE_UNROLL
	for (__u32 at = 0; at < size; at += alignment) {
		stepwise_write_bytes(to + at, alignment, 0);
		asm volatile(""
			     :
			     :
			     : "memory"); /* else clang calls memset(), which BPF does not have */
	}
}

/*
 * Adds up many bytes one after the other. Otherwise clang would make a tree of the sum, whose parts
 * do not fit the stack.
 */
#define STEPWISE_IN_ORDER(many, sum)                               \
	do {                                                       \
		if (many)                                          \
			asm volatile("" : "+r"(sum) : : "memory"); \
	} while (0)

/*
 * Returns the one's complement sum, in memory order, of `size` bytes (a constant) that start
 * `offset` bytes into a checksummed area. Not folded: 64 bits do not overflow.
 */
static __always_inline __u64 stepwise_sum(const unsigned char *from, __u32 size, __u32 offset)
{
	__u64 sum = 0;
	__u32 at = 0;

	if (size >= 4) {
		STEPWISE_UNROLL
		for (; at + 4 <= size; at += 4) {
			sum += STEPWISE_READ(__u32, from + at);
			STEPWISE_IN_ORDER(size > 256, sum);
		}
		if (at + 2 <= size) {
			sum += STEPWISE_READ(__u16, from + at);
			at += 2;
		}
		/* The bytes of each 16 bits are swapped. Modulo 2^16 - 1, that is a shift. */
		if (offset & 1)
			sum <<= 8;
	}
	STEPWISE_UNROLL
	for (; at < size; at++) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
		sum += (__u64)from[at] << ((offset + at) & 1 ? 8 : 0);
#else
		sum += (__u64)from[at] << ((offset + at) & 1 ? 0 : 8);
#endif
	}
	return sum;
}

/*
 * Folds a sum to 16 bits, with every carry. Adding the halves in both orders leaves the sum and its
 * carry in the upper half. (Folding once is not enough.)
 */
static __always_inline __u16 stepwise_fold(__u64 sum)
{
	__u32 half;

	sum += sum >> 32 | sum << 32;
	half = sum >> 32;
	half += half >> 16 | half << 16;
	return half >> 16;
}

/*
 * Returns true if a sum that is not zero folds to 0xffff: if 2^16 - 1 divides it. Modulo 2^64, the
 * multiplication divides by 2^16 - 1. It maps the multiples to the quotients, which are the
 * smallest numbers, and all other sums above them. (H. S. Warren, "Hacker's Delight", 2nd edition,
 * 2013, section 10-17.)
 */
static __always_inline bool stepwise_is_sum_correct(__u64 sum)
{
	const __u64 quotient_max = 0x0001000100010001ULL; /* (2^64 - 1) / (2^16 - 1) */

	return sum * -quotient_max <= quotient_max;
}

/*
 * Overwrites a field that starts `offset` bytes into the payload. Returns the change of a checksum
 * over it: the sum of the old bytes minus the sum of the new ones. 2^48 - 1 is a multiple of 2^16 -
 * 1, so a sum that is subtracted from it counts as negative.
 */
#define STEPWISE_SUM_ZERO 0xffffffffffffULL

static __always_inline __u64 stepwise_replace(unsigned char *payload, __u32 offset, __u32 size,
					      __u64 value)
{
	const __u64 before = stepwise_sum(payload + offset, size, offset);

	stepwise_write(payload + offset, size, value);
	return STEPWISE_SUM_ZERO + before - stepwise_sum(payload + offset, size, offset);
}

static __always_inline __u64 stepwise_replace_bytes(unsigned char *payload, __u32 offset,
						    __u32 size, __u64 value)
{
	const __u64 before = stepwise_sum(payload + offset, size, offset);

	stepwise_write_bytes(payload + offset, size, value);
	return STEPWISE_SUM_ZERO + before - stepwise_sum(payload + offset, size, offset);
}

/* Returns true if two blocks differ, for stepwise_replace_block(). */
static __always_inline bool stepwise_differs(const unsigned char *left, const unsigned char *right,
					     __u32 size, __u32 alignment)
{
	__u64 difference = 0;

	STEPWISE_UNROLL
	for (__u32 at = 0; at < size; at += alignment) {
		difference |= stepwise_read_bytes(left + at, alignment) ^
			      stepwise_read_bytes(right + at, alignment);
		STEPWISE_IN_ORDER(size > 24 * alignment, difference);
	}
	asm("" : "+r"(difference)); /* else clang makes a branch for each part */
	return difference;
}

/*
 * Overwrites more than 8 bytes, if they differ. Mostly they are equal, and comparing costs a third
 * of summing and storing. `alignment` is that of `value`; see stepwise_copy().
 */
static __always_inline __u64 stepwise_replace_block(unsigned char *payload, __u32 offset,
						    __u32 size, const unsigned char *value,
						    __u32 alignment)
{
	__u64 before;

	if (!stepwise_differs(payload + offset, value, size, alignment))
		return 0;
	/*
	 * Sum, store, then read again and sum. Otherwise clang would keep words in registers, take
	 * them apart by shifts, and spill half of the sums.
	 */
	asm volatile("" : "+r"(payload) : : "memory");
	before = stepwise_sum(payload + offset, size, offset);
	asm volatile("" : "+r"(before) : : "memory");
	stepwise_copy(payload + offset, value, size, alignment);
	asm volatile("" : "+r"(payload) : : "memory");
	return STEPWISE_SUM_ZERO + before - stepwise_sum(payload + offset, size, offset);
}

/*
 * Overwrites any number of bytes with zero, if they are not zero yet. In most requests they are,
 * and comparing costs less than summing.
 */
static __always_inline __u64 stepwise_blank(unsigned char *payload, __u32 offset, __u32 size)
{
	__u64 some = 0, before;

	STEPWISE_UNROLL
	for (__u32 at = 0; at < size; at += 8) {
		some |= stepwise_read_bytes(payload + offset + at, size - at < 8 ? size - at : 8);
		STEPWISE_IN_ORDER(size > 256, some);
	}
	if (!some)
		return 0;
	before = stepwise_sum(payload + offset, size, offset);
	STEPWISE_UNROLL
	for (__u32 at = 0; at < size; at += 8)
		stepwise_write_bytes(payload + offset + at, size - at < 8 ? size - at : 8, 0);
	return before;
}

#endif
