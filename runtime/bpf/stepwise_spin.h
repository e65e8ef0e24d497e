/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Cells that do not fit a word. Each has a spin lock, and the verifier proves that it is released.
 * In userspace, over private memory, the same calls take the same lock by busy waiting.
 */
#ifndef STEPWISE_SPIN_H
#define STEPWISE_SPIN_H

#include <linux/bpf.h>

/* As in the kernel's <asm-generic/rqspinlock.h> (6.15). BTF finds it by its name. */
struct bpf_res_spin_lock {
	__u32 val;
};

#ifdef __bpf__
extern int bpf_res_spin_lock(struct bpf_res_spin_lock *guard) __attribute__((section(".ksyms")));
extern void bpf_res_spin_unlock(struct bpf_res_spin_lock *guard) __attribute__((section(".ksyms")));
#else
#include <sched.h>

#define STEPWISE_SPINS_MAX \
	1000 /* then it yields to the holder, which may be on this very processor */

static inline void stepwise_lock_word(__u32 *word)
{
	unsigned int spins = 0;

	while (__atomic_exchange_n(word, 1, __ATOMIC_ACQUIRE))
		while (__atomic_load_n(word, __ATOMIC_RELAXED))
			if (++spins % STEPWISE_SPINS_MAX == 0)
				sched_yield();
}

static inline void stepwise_unlock_word(__u32 *word)
{
	__atomic_store_n(word, 0, __ATOMIC_RELEASE);
}

static inline void bpf_spin_lock(struct bpf_spin_lock *guard)
{
	stepwise_lock_word(&guard->val);
}

static inline void bpf_spin_unlock(struct bpf_spin_lock *guard)
{
	stepwise_unlock_word(&guard->val);
}

/* Never fails in userspace. */
static inline int bpf_res_spin_lock(struct bpf_res_spin_lock *guard)
{
	stepwise_lock_word(&guard->val);
	return 0;
}

static inline void bpf_res_spin_unlock(struct bpf_res_spin_lock *guard)
{
	stepwise_unlock_word(&guard->val);
}
#endif

#endif
