// SPDX-License-Identifier: MIT OR GPL-2.0
/* A server of the tests: a reflector that drops what slot 1 sends after the first thousand, and
 * spoils slot 2's. */
#include "frame.bpf.h"
#include <bpf/bpf_endian.h>
#include "slots.h"

#define BENCH_PAYLOAD_SIZE 20 /* as in bench.h */

__u64 seen;
__u64 with_checksum;
__u64 bad_checksums;

static __always_inline __u16 sum_of(const struct bench_frame *frame)
{
	const __u16 *words = (const void *)frame + 26; /* the addresses of IPv4 */
	__u32 sum = bpf_htons(17) + frame->udp.len;

#pragma unroll
	for (int at = 0; at < (8 + 8 + BENCH_PAYLOAD_SIZE) / 2; at++)
		sum += words[at];
	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16);
}

SEC("xdp")
int lossy(struct xdp_md *ctx)
{
	struct bench_frame *frame = (void *)(long)ctx->data;

	if ((void *)frame + sizeof(*frame) + BENCH_PAYLOAD_SIZE > (void *)(long)ctx->data_end)
		return XDP_PASS;
	seen++;
	with_checksum += frame->udp.check != 0;
	if (frame->udp.check && sum_of(frame) != 0xffff)
		bad_checksums++;
	if (frame->udp.source == bpf_htons(BENCH_PORT_FIRST + 1) && seen > 1000)
		return XDP_DROP;
	if (frame->udp.source == bpf_htons(BENCH_PORT_FIRST + 2))
		frame->payload[0] ^= 1;
	bench_turn_round(frame);
	return XDP_TX;
}

char license_of_program[] SEC("license") = "Dual MIT/GPL";
