/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Does in ordinary memory what the kernel does for programs. A map's elements are zero until the
 * run of a packet writes them. The helpers are those that programs call. Every block is an
 * allocation of its own, so that ASan sees each access beyond it. The clock stands still, so that a
 * packet has the same effect in every run.
 */
#ifndef STEPWISE_PARSERS_KERNEL_H
#define STEPWISE_PARSERS_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/bpf.h>

/* --- For callers of programs ------------------------------------------------------------------ */

/* Empties all maps. `redirects`: whether device maps and sockets take packets. `has_socket`:
 * whether maps of sockets have one. */
void kernel_begin(bool redirects, bool has_socket);

/* Adds this key to all maps with keys of this size that are not numbers, until the next
 * kernel_begin(). They have no other key. */
void kernel_enter(const void *key, size_t size);

/* The number of elements that were looked up since kernel_begin(). */
unsigned int kernel_element_count(void);

/* The sample that was submitted to the ring buffer since kernel_begin(), or NULL. */
const void *kernel_ring_sample(void);

/* Copies a packet as drivers place it: the address of the network header is a multiple of four. */
unsigned char *kernel_packet_new(const unsigned char *bytes, size_t size);
void kernel_packet_free(unsigned char *packet);

/* Starts a packet that this host sends; its first `head_size` bytes lie together. `packet` must
 * outlive it. */
void kernel_skb_begin(struct __sk_buff *skb, const unsigned char *packet, size_t size,
		      size_t head_size);
void kernel_skb_end(struct __sk_buff *skb);

/* --- For programs: see bpf-helpers(7) --------------------------------------------------------- */

/* Does bpf_map_lookup_elem() with a number: returns an element of `size` bytes of a map of this
 * type; NULL from `capacity` on. */
void *kernel_element(const void *map, size_t type, __u32 index, size_t capacity, size_t size);

/* Does the same for a map whose keys are not numbers. Its value is never read. */
const void *kernel_entry(const void *key, size_t size);

long bpf_loop(__u32 count, long (*callback)(__u32 number, void *context), void *context,
	      __u64 flags);
long bpf_redirect_map(const void *map, __u64 key, __u64 flags);
long bpf_tail_call(void *context, const void *programs, __u32 index); /* in program.c */
long bpf_xdp_load_bytes(const struct xdp_md *context, __u32 offset, void *bytes, __u32 size);
long bpf_skb_pull_data(struct __sk_buff *skb, __u32 size);
long bpf_l4_csum_replace(struct __sk_buff *skb, __u32 offset, __u64 from, __u64 to, __u64 flags);
__u64 bpf_ringbuf_query(const void *ring, __u64 flags);
void *bpf_ringbuf_reserve(const void *ring, __u64 size, __u64 flags);
void bpf_ringbuf_submit(void *sample, __u64 flags);
void bpf_ringbuf_discard(void *sample, __u64 flags);
__u64 bpf_get_socket_cookie(const struct __sk_buff *skb);
struct bpf_sock *bpf_sk_fullsock(struct bpf_sock *socket);
long bpf_sk_release(struct bpf_sock *socket);
__u64 bpf_jiffies64(void);
__u64 bpf_ktime_get_coarse_ns(void);
__u32 bpf_get_smp_processor_id(void);

#endif
