/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Values in files: in the entries and rows of the generated <protocol>_drain.h, and in segments.
 * `size` is a constant, at most 8.
 */
#ifndef STEPWISE_BYTES_H
#define STEPWISE_BYTES_H

#include <endian.h>
#include <string.h>
#include <linux/types.h>

#include "bpf/stepwise_wire.h"

static inline void stepwise_put(unsigned char *to, size_t size, __u64 value)
{
	value = htole64(value);
	memcpy(to, &value, size);
}

static inline __u64 stepwise_get(const unsigned char *from, size_t size)
{
	__u64 value = 0;

	memcpy(&value, from, size);
	return le64toh(value);
}

/* Opaque bytes, whose order does not change. */
#define stepwise_put_bytes(to, size, value) stepwise_write_bytes(to, size, value)
#define stepwise_get_bytes(from, size) stepwise_read_bytes(from, size)

/* Acquire load: later reads see everything that was written before the word was. */
static inline __u64 stepwise_load_acquire(const __u64 *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

#endif
