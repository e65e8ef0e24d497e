// SPDX-License-Identifier: MIT OR GPL-2.0
/* One program of every thing that harness.rig.bpf can reach: a mapped array, a per-CPU array,
 * global variables. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 8);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, __u64);
} cells SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32[3]);
} counters SEC(".maps");

__u64 runs;
struct {
	__u64 step;
	__u32 index;
} control = { 1, 0 };

SEC("xdp")
int count(struct xdp_md *ctx)
{
	void *end = (void *)(long)ctx->data_end;
	unsigned char *packet = (void *)(long)ctx->data;
	__u32 index = control.index, zero = 0;
	__u64 *cell = bpf_map_lookup_elem(&cells, &index);
	__u32 *counter = bpf_map_lookup_elem(&counters, &zero);

	if (!cell || !counter || packet + 14 > (unsigned char *)end)
		return XDP_DROP;
	*cell += control.step;
	counter[2]++;
	runs++;
	for (int at = 0; at < 6; at++) {
		unsigned char other = packet[at];

		packet[at] = packet[at + 6];
		packet[at + 6] = other;
	}
	return XDP_TX;
}

char license_of_program[] SEC("license") = "Dual MIT/GPL";
