/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Replaces <bpf/bpf_helpers.h> for programs that run natively: maps are declared as usual, and
 * helpers are those of harness/fuzz_targets/parsers/kernel.c. */
#ifndef STEPWISE_NATIVE_BPF_HELPERS_H
#define STEPWISE_NATIVE_BPF_HELPERS_H

#include "kernel.h"

#define SEC(name)
#define __uint(name, value) int(*name)[value]
#define __type(name, value) typeof(value) *name

/* The key of an array, or of a per-CPU array, is a number. */
#define bpf_map_lookup_elem(map, key)                                            \
	_Generic(*(key),                                                         \
		__u32: kernel_element(map, sizeof(*(map)->type) / sizeof(int),   \
				      *(const __u32 *)(const void *)(key),       \
				      sizeof(*(map)->max_entries) / sizeof(int), \
				      sizeof(*(map)->value)),                    \
		default: (void *)kernel_entry(key, sizeof(*(key))))

#endif
