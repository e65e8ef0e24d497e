/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A hand-made protocol whose messages may have a tail, in the shape of generated code: what
 * runtime/bpf/stepwise_tail.h and the daemon do with one is tested without the generator.
 *
 * ECHO is answered by XDP, which sends a tail back as it came. KEEP brings a parcel for the daemon
 * to keep, and FETCH asks for it: XDP says how long it is, the daemon puts it behind. TC marks the
 * daemon's replies, and drops those about a parcel in whose place there is another by then. With
 * PARCEL_EVEN the fixed part has an even number of bytes.
 */
#ifndef PARCEL_H
#define PARCEL_H

#include <linux/types.h>

#include "bpf/stepwise_wire.h"

#define PARCEL_PORT 20998
#define PARCEL_CAPACITY 8
#define PARCEL_FRAME_BYTES_MAX 1068 /* by IPv6, with the longest tail */
#define PARCEL_TAIL_OVER 4
#define PARCEL_TAIL_MAX 1000

enum parcel_kind {
	PARCEL_ECHO = 1,
	PARCEL_ECHOED,
	PARCEL_KEEP,
	PARCEL_KEPT,
	PARCEL_FETCH,
	PARCEL_FETCHED,
};

#define PARCEL_COMPLETED 0x80 /* in a kind, by TC */

#define PARCEL_WIRE_KIND 0
#define PARCEL_WIRE_INDEX 1
#define PARCEL_WIRE_LENGTH 2
#define PARCEL_WIRE_GENERATION 4
#ifdef PARCEL_EVEN
#define PARCEL_WIRE_SIZE 6
#else
#define PARCEL_WIRE_SIZE 5
#endif

/* How long a parcel is, and how often there was another in its place: a word of `shelf`. */
#define PARCEL_LENGTH(word) ((word) & 0xffff)
#define PARCEL_GENERATION(word) ((word) >> 16)
#define PARCEL_WORD(generation, length) ((__u64)(generation) << 16 | (length))

struct parcel_bytes {
	unsigned char bytes[PARCEL_TAIL_MAX];
} __attribute__((aligned(8)));

enum parcel_counter {
	PARCEL_COUNTER_FOREIGN,
	PARCEL_COUNTER_MALFORMED,
	PARCEL_COUNTER_MALFORMED_CHECKSUM,
	PARCEL_COUNTER_ECHOED,
	PARCEL_COUNTER_FORWARDED,
	PARCEL_COUNTER_TC_FOREIGN,
	PARCEL_COUNTER_TC_MALFORMED,
	PARCEL_COUNTER_TC_STRANGER,
	PARCEL_COUNTER_COMPLETED,
	PARCEL_COUNTERS,
};

/* Bytes of the tail that belong to what this payload says. */
static __always_inline __u32 parcel_message_tail_size(const unsigned char *payload)
{
	const __u32 length = stepwise_read(payload + PARCEL_WIRE_LENGTH, 2);

	return length > PARCEL_TAIL_OVER && length <= PARCEL_TAIL_MAX ? length : 0;
}

#endif
