/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Reads cells before they are needed, so that no read waits for another. */
#ifndef STEPWISE_BPF_TOUCH_H
#define STEPWISE_BPF_TOUCH_H

#include "bpf/stepwise_c.h"

#define STEPWISE_LINE_BYTES 64u
/*
 * Offset of the last byte of the first whole line. The values of an array start 8 bytes before a
 * line does.
 */
#define STEPWISE_LINE_REACH 71u

/*
 * Reads one byte of every line of an element that consists of whole lines. For other elements, it
 * may miss a line, which costs time. It does not read the start of the element, where a guard may
 * be, because programs cannot read a guard.
 */
static __always_inline void stepwise_touch(const void *element, __u32 size)
{
	STEPWISE_UNROLL
	for (__u32 at = STEPWISE_LINE_REACH; at < size - 1; at += STEPWISE_LINE_BYTES)
		*(const volatile __u8 *)(element + at);
	*(const volatile __u8 *)(element + size - 1);
}

#endif
