/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Requests at a given rate. The packet of a slot that asks for nothing goes round on the client's
 * own end: redirected to the server's interface it comes in here again, and costs the server
 * nothing. Each time it looks whether a request is due. Where none of the slots is free by then the
 * request goes out late, and its latency is still counted from when it was due. One core polls this
 * end, so that nothing here needs to be atomic. See harness/bench/pace.py.
 */
#ifndef BENCH_PACE_BPF_H
#define BENCH_PACE_BPF_H

#define BENCH_GAPS 4096
#define BENCH_TIME_BITS 16 /* times are in 1/65,536 ns */
#define BENCH_STALL_NS 100000
#define BENCH_LATENCY_BITS 36 /* of the longest latency: 68 s */
#define BENCH_BUCKET_BITS 7   /* buckets of each doubling: 128, so that one is at most 1/128 wide */
#define BENCH_BUCKETS ((BENCH_LATENCY_BITS - BENCH_BUCKET_BITS + 1) << BENCH_BUCKET_BITS)

/* Filled in by harness/bench/pace.py before a run, the counts in the run. Times in ns are of
 * bpf_ktime_get_ns(). */
struct bench_pace {
	__u64 begins_ns;  /* when the first request is due */
	__u64 counts_ns;  /* those due from here on are counted */
	__u64 ends_ns;	  /* none is due from here on */
	__u64 interval;	  /* mean, in 1/65,536 ns */
	__u64 next;	  /* when the next one is due, from begins_ns on, in 1/65,536 ns */
	__u64 sent;	  /* so far */
	__u64 due;	  /* of those that are counted: sent */
	__u64 answered;	  /* of those that are counted: answered, in the end */
	__u64 in_time;	  /* answers that came while requests were counted */
	__u64 waiting;	  /* slots that wait for an answer now */
	__u64 exhausted;  /* how often the last free slot was taken */
	__u64 looked_ns;  /* when a packet last looked at the clock */
	__u64 stalled_ns; /* how long none did although slots were free, in pieces of BENCH_STALL_NS
			     or more */
};

struct bench_pace pace;
__u64 due_ns[BENCH_SLOTS_MAX]; /* of what a slot waits for; 0: it waits for nothing */

/* How far requests are apart, in 1/65,536 of the mean. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, BENCH_GAPS);
	__type(key, __u32);
	__type(value, __u32);
} gaps SEC(".maps");

/* How many took how long, and behind that how many were sent how late: the buckets of an
 * HdrHistogram with two digits. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2 * BENCH_BUCKETS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, __u64);
} latencies SEC(".maps");

/* The server's interface: what is sent there by its peer comes in here. */
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

/* While slots are free, the time since the last look is the generator's own. */
static __always_inline void bench_look(__u64 now)
{
	const __u64 apart = now - pace.looked_ns;

	if (pace.looked_ns >= pace.counts_ns && now < pace.ends_ns &&
	    pace.waiting < control.slots && apart >= BENCH_STALL_NS)
		pace.stalled_ns += apart;
	pace.looked_ns = now;
}

/* Whether the slot is to ask for something now. What it waited for is there. */
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

/* What the client makes of a packet; its own part. paced: it asks at the given rate, and not as
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
