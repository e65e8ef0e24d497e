/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Sends requests at a given rate. The packet of a slot without a request goes round on the client's
 * own end: redirected to the server's interface, it comes in here again and costs the server
 * nothing. Each time it checks whether a request is due. If no slot is free by then, the request
 * goes out late, and its latency still counts from when it was due. One core polls this end, so
 * nothing here needs to be atomic. See harness/bench/pace.py.
 */
#ifndef BENCH_PACE_BPF_H
#define BENCH_PACE_BPF_H

#define BENCH_GAPS 4096
#define BENCH_TIME_BITS 16 /* times are in 1/65,536 ns */
#define BENCH_STALL_NS 100000
#define BENCH_LATENCY_BITS 36 /* longest latency: 68 s */
#define BENCH_BUCKET_BITS 7   /* 128 buckets a doubling: each is at most 1/128 wide */
#define BENCH_BUCKETS ((BENCH_LATENCY_BITS - BENCH_BUCKET_BITS + 1) << BENCH_BUCKET_BITS)

/* harness/bench/pace.py fills it in before a run, and the program counts during the run. Times in
 * ns are of bpf_ktime_get_ns(). */
struct bench_pace {
	__u64 begins_ns;  /* when the first request is due */
	__u64 counts_ns;  /* requests due from here on are counted */
	__u64 ends_ns;	  /* no request is due from here on */
	__u64 interval;	  /* mean time between requests, in 1/65,536 ns */
	__u64 next;	  /* when the next request is due, after begins_ns, in 1/65,536 ns */
	__u64 sent;	  /* requests sent so far */
	__u64 due;	  /* counted requests that were sent */
	__u64 answered;	  /* counted requests that were answered, even late */
	__u64 in_time;	  /* answers that came while requests were counted */
	__u64 waiting;	  /* slots that wait for an answer now */
	__u64 exhausted;  /* how often a request took the last free slot */
	__u64 looked_ns;  /* when a packet last looked at the clock */
	__u64 stalled_ns; /* how long no packet looked although slots were free, in pieces of
			     BENCH_STALL_NS or more */
};

struct bench_pace pace;
__u64 due_ns[BENCH_SLOTS_MAX]; /* when a slot's request was due; 0: it has none */

/* Gaps between requests, in 1/65,536 of the mean. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, BENCH_GAPS);
	__type(key, __u32);
	__type(value, __u32);
} gaps SEC(".maps");

/* Counts of requests by latency, then by how late they were sent. The buckets are those of an
 * HdrHistogram with two digits. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2 * BENCH_BUCKETS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, __u64);
} latencies SEC(".maps");

/* The server's interface. A packet that is redirected to it comes in on its peer, which is here. */
struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} here SEC(".maps");

static __always_inline __u32 bench_bucket(__u64 ns)
{
	const __u64 value = ns >> BENCH_LATENCY_BITS ? (1ULL << BENCH_LATENCY_BITS) - 1 : ns;
	__u64 above = value >> (BENCH_BUCKET_BITS + 1);
	__u32 shift = 0;

#pragma unroll
	for (int step = 16; step; step >>= 1) {
		if (above >> step) {
			above >>= step;
			shift += step;
		}
	}
	shift += above;
	return (shift << BENCH_BUCKET_BITS) + (value >> shift);
}

static __always_inline void bench_count_time(__u64 ns, __u32 first)
{
	const __u32 bucket = first + bench_bucket(ns);
	__u64 *count = bpf_map_lookup_elem(&latencies, &bucket);

	if (count)
		(*count)++;
}

static __always_inline void bench_is_answered(__u64 due, __u64 now)
{
	pace.waiting--;
	if (now >= pace.counts_ns && now < pace.ends_ns)
		pace.in_time++;
	if (due < pace.counts_ns)
		return;
	pace.answered++;
	bench_count_time(now - due, 0);
}

/* Counts the time since the last look as the generator's own stall, if slots were free. */
static __always_inline void bench_look(__u64 now)
{
	const __u64 apart = now - pace.looked_ns;

	if (pace.looked_ns >= pace.counts_ns && now < pace.ends_ns &&
	    pace.waiting < control.slots && apart >= BENCH_STALL_NS)
		pace.stalled_ns += apart;
	pace.looked_ns = now;
}

/* Whether the slot sends a request now. Its packet is here, so its last request is answered. */
static __always_inline bool bench_is_due(__u32 index)
{
	const __u64 now = bpf_ktime_get_ns(),
		    next_ns = pace.begins_ns + (pace.next >> BENCH_TIME_BITS);
	const __u32 gap = pace.sent % BENCH_GAPS;
	const __u32 *apart = bpf_map_lookup_elem(&gaps, &gap);
	__u64 *due;

	if (index >= BENCH_SLOTS_MAX || !apart)
		return false;
	bench_look(now);
	due = &due_ns[index];
	if (*due)
		bench_is_answered(*due, now);
	*due = 0;
	if (next_ns > now || next_ns >= pace.ends_ns)
		return false;
	*due = next_ns;
	pace.next += pace.interval * *apart >> BENCH_TIME_BITS;
	pace.sent++;
	pace.waiting++;
	if (next_ns >= pace.counts_ns) {
		pace.due++;
		pace.exhausted += pace.waiting == control.slots;
		bench_count_time(now - next_ns, BENCH_BUCKETS);
	}
	return true;
}

static __always_inline int bench_wait(void)
{
	return bpf_redirect_map(&here, 0, XDP_ABORTED);
}

/* Handles a packet; each client defines its own. paced: the client sends at the given rate, not as
 * soon as it can. */
static __always_inline int bench_ask(struct xdp_md *ctx, bool paced);

SEC("xdp")
int bench_client(struct xdp_md *ctx)
{
	return bench_ask(ctx, false);
}

SEC("xdp")
int bench_paced_client(struct xdp_md *ctx)
{
	return bench_ask(ctx, true);
}

#endif
