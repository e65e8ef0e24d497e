/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Cells that do not fit a word: kept beside a spin_lock whose release the
 * verifier proves.
 */
#ifndef STEPWISE_SPIN_H
#define STEPWISE_SPIN_H

#include <linux/bpf.h>

/* As in the kernel's <asm-generic/rqspinlock.h>; BTF finds it by its name (6.15). */
struct bpf_res_spin_lock {
	__u32 val;
};

#ifdef __bpf__
extern int bpf_res_spin_lock(struct bpf_res_spin_lock *guard) __attribute__((weak, section(".ksyms")));
extern void bpf_res_spin_unlock(struct bpf_res_spin_lock *guard) __attribute__((weak, section(".ksyms")));
#endif

#endif
