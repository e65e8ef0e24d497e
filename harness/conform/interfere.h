/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Makes a section of a program lose its races on demand, so that conformance also compares a
 * contended cell. The programs that conformance runs include this header before everything else
 * (-include).
 */
#ifndef CONFORM_INTERFERE_H
#define CONFORM_INTERFERE_H
#ifdef __bpf__

#include <stdbool.h>
#include <linux/types.h>
#include "bpf/stepwise_spin.h"

/*
 * losses: how many more compare-and-swaps on a cell that holds `victim` lose. After each loss the
 * cell holds `rival`. refused: which call to take a bpf_res_spin_lock fails, counted from 1; 0 for
 * none.
 */
struct {
	__u64 losses;
	__u64 victim;
	__u64 rival;
	__u64 refused;
} volatile conform_interference __attribute__((section(".data")));

static inline __attribute__((always_inline)) bool
conform_compare_and_swap(__u64 *word, __u64 before, __u64 after)
{
	if (conform_interference.losses && before == conform_interference.victim) {
		conform_interference.losses--;
		*(volatile __u64 *)word = conform_interference.rival;
		return false;
	}
	return __sync_val_compare_and_swap(word, before, after) == before;
}

#define __sync_bool_compare_and_swap(word, before, after) \
	conform_compare_and_swap(word, before, after)

static inline __attribute__((always_inline)) int
conform_res_spin_lock(struct bpf_res_spin_lock *guard)
{
	if (conform_interference.refused && !--conform_interference.refused)
		return -1;
	return bpf_res_spin_lock(guard);
}

#define bpf_res_spin_lock(guard) conform_res_spin_lock(guard)

#endif
#endif
