/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A hand-made protocol, as small as one with every kind of program can be, for
 * the tests of the runtime: they must not wait for the generator to be right. Its
 * variants (ECHO_*, given in DEFINES) are what a build can have wrong.
 *
 * A request names a cell. ADD adds its value to the cell in XDP. ASK goes to the
 * daemon, which looks for the first cell that is not zero (with ECHO_SPIN_LOCK, at
 * the cell that the request names); TC marks the reply, so that one that did not
 * pass TC can be told, and with ECHO_TAKE counts the cell that was found down. The
 * sweep sets back to zero the cells that hold ECHO_SWEPT or more. With ECHO_AHEAD,
 * XDP sends every message on to its second program, where the daemon has entered
 * the interface.
 */
#ifndef ECHO_H
#define ECHO_H

#include <linux/bpf.h>
#include <linux/types.h>

#ifndef ECHO_CAPACITY
#define ECHO_CAPACITY 10000
#endif
#ifndef ECHO_LAYOUT
#define ECHO_LAYOUT 0x1234
#endif
#ifndef ECHO_VERSION
#define ECHO_VERSION 0
#endif

#define ECHO_PORT 20999
#define ECHO_SWEPT 1000

#define ECHO_FRAME_BYTES 58	/* of a message, by IPv4 */
#define ECHO_FRAME_BYTES_MAX 78 /* by IPv6 */
#define ECHO_SAMPLE_BYTES 1600

enum echo_kind {
	ECHO_ADD = 1,
	ECHO_ADDED,
	ECHO_ASK,
	ECHO_TOLD,	/* by the daemon */
	ECHO_COMPLETED, /* by TC */
	ECHO_IGNORED,	/* goes to the daemon, which drops it */
	ECHO_GARBAGE,	/* with ECHO_AHEAD: makes the program put into the ring what `index` says */
};

enum echo_garbage {
	ECHO_RING_EMPTY,
	ECHO_RING_NO_FRAME,
	ECHO_RING_CUT_ETHERNET,
	ECHO_RING_CUT_UDP,
	ECHO_RING_CUT_PAYLOAD,
	ECHO_RING_MORE_THAN_THERE_IS,
	ECHO_RING_HUGE,
	ECHO_RING_TOO_LONG,
	ECHO_RING_SHORT_LENGTH,
	ECHO_RING_LONG_PAYLOAD,
	ECHO_RING_OTHER_INTERFACE,
	ECHO_RING_DISCARDED,
};

struct echo_message {
	__u8 kind;
	__u8 unused[3];
	__u32 index;
	__u64 value;
};

struct echo_element {
#ifdef ECHO_SPIN_LOCK
	struct bpf_spin_lock guard;
	__u32 unused;
#endif
	__u64 value;
};

enum echo_counter {
	ECHO_COUNTER_FOREIGN,
	ECHO_COUNTER_ADDED,
	ECHO_COUNTER_FORWARDED,
	ECHO_COUNTER_COMPLETED,
#ifdef ECHO_AHEAD
	ECHO_COUNTER_AHEAD,
#endif
	ECHO_COUNTERS,
};

struct echo_sweep {
	__u64 found;
};

#endif
