// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The client of memcached in `just bench kv`. It speaks memcached's binary protocol over UDP, with
 * the same keys and values and as many requests in flight. Requests and answers differ in length. A
 * packet has no room behind it, so it grows and shrinks at its head, and its headers are written
 * anew.
 */
#define BENCH_PAYLOAD_SIZE 32 /* bytes of the shortest message */
#include "client.bpf.h"
#include "pace.bpf.h"
#include "bench_workload.h"
#include "bpf/stepwise_wire.h"

#define MAGIC_REQUEST 0x80
#define MAGIC_ANSWER 0x81
#define STATUS_SUCCESS 0
#define STATUS_NOT_FOUND 1

enum {
	OPCODE_GET = 0,
	OPCODE_SET = 1,
	OPCODE_REPLACE = 3
};

/*
 * The words of a slot's state. ASKED: not zero once it has asked for anything. OPERATION, KEY: of
 * the last request. SEQUENCE: a number that tells answers apart.
 */
enum {
	SLOT_ASKED,
	SLOT_OPERATION,
	SLOT_KEY,
	SLOT_SEQUENCE
};

/* Precedes every message in UDP. Integers are big endian, here and below. */
struct udp_prefix {
	__be16 request, part, parts, reserved;
} __attribute__((packed));

struct header {
	__u8 magic, opcode;
	__be16 key_size;
	__u8 extras_size, type;
	__be16 status; /* reserved in requests */
	__be32 body_size;
	__u32 opaque;
	__u64 version;
} __attribute__((packed));

struct message {
	struct udp_prefix prefix;
	struct header header;
} __attribute__((packed));

struct get_request {
	struct message message;
	__u64 key;
} __attribute__((packed));

struct store_request {
	struct message message;
	__u64 flags_and_expiry;
	__u64 key;
	__u64 value[BENCH_VALUE_SIZE / 8];
} __attribute__((packed));

struct value_answer {
	struct message message;
	__be32 flags;
	__u64 value[BENCH_VALUE_SIZE / 8];
} __attribute__((packed));

_Static_assert(sizeof(struct message) == BENCH_PAYLOAD_SIZE,
	       "the shortest message is a header alone");

static __always_inline bool is_value(const struct bench_frame *frame, const void *end, __u64 key)
{
	const struct value_answer *answer = (const void *)frame->payload;

	return (const void *)(answer + 1) <= end && answer->value[0] == key;
}

static __always_inline __u32 outcome_of(const struct bench_frame *frame, const void *end,
					const struct bench_slot *slot)
{
	const struct message *message = (const void *)frame->payload;
	const bool found = message->header.status == bpf_htons(STATUS_SUCCESS);

	if (message->header.magic != MAGIC_ANSWER || !slot->state[SLOT_ASKED])
		return BENCH_OTHER;
	if (message->header.opaque != (__u32)slot->state[SLOT_SEQUENCE])
		return BENCH_STALE;
	if (!found && message->header.status != bpf_htons(STATUS_NOT_FOUND))
		return BENCH_REFUSED;
	switch (slot->state[SLOT_OPERATION]) {
	case BENCH_GET:
		return !found					   ? BENCH_MISSING :
		       is_value(frame, end, slot->state[SLOT_KEY]) ? BENCH_VALUE :
								     BENCH_OTHER;
	case BENCH_UPDATE:
		return found ? BENCH_UPDATED : BENCH_ABSENT;
	default:
		return found ? BENCH_INSERTED : BENCH_REFUSED;
	}
}

static __always_inline void write_header(struct message *message, const struct bench_slot *slot,
					 __u8 opcode, __u8 extras_size, __u32 body_size)
{
	*message = (struct message){
		.prefix = { .request = slot->index, .parts = bpf_htons(1) },
		.header = {
			.magic = MAGIC_REQUEST,
			.opcode = opcode,
			.key_size = bpf_htons(sizeof(slot->state[0])),
			.extras_size = extras_size,
			.body_size = bpf_htonl(body_size),
			.opaque = slot->state[SLOT_SEQUENCE],
		},
	};
}

static __always_inline void write_lengths(struct bench_frame *frame, __u32 payload_size)
{
	__u64 sum;

	frame->udp.len = bpf_htons(sizeof(frame->udp) + payload_size);
	frame->udp.check = 0;
	frame->ip.tot_len = bpf_htons(sizeof(frame->ip) + sizeof(frame->udp) + payload_size);
	frame->ip.check = 0;
	frame->ip.check = ~stepwise_fold(
		stepwise_sum((const unsigned char *)&frame->ip, sizeof(frame->ip), 0));
	if (!control.with_checksum)
		return;
	sum = bpf_htons(IPPROTO_UDP) + (__u64)frame->udp.len;
	sum += stepwise_sum((const unsigned char *)&frame->ip.saddr, 8, 0);
	sum += stepwise_sum((const unsigned char *)&frame->udp, sizeof(frame->udp) + payload_size,
			    0);
	frame->udp.check = ~stepwise_fold(sum);
	if (!frame->udp.check)
		frame->udp.check = 0xffff;
}

/*
 * Gives the packet another length and copies its headers to the new head. Returns NULL only to
 * satisfy the verifier.
 */
static __always_inline struct bench_frame *resize(struct xdp_md *ctx, __u32 payload_size)
{
	const int surplus =
		(int)(ctx->data_end - ctx->data) - (int)(sizeof(struct bench_frame) + payload_size);
	struct bench_frame *frame = (void *)(long)ctx->data, headers;

	if ((void *)(frame + 1) > (void *)(long)ctx->data_end)
		return NULL;
	headers = *frame;
	if (bpf_xdp_adjust_head(ctx, surplus))
		return NULL;
	frame = (void *)(long)ctx->data;
	if ((void *)frame + sizeof(*frame) + payload_size > (void *)(long)ctx->data_end)
		return NULL;
	*frame = headers;
	return frame;
}

static __always_inline int send_get(struct xdp_md *ctx, const struct bench_slot *slot)
{
	struct bench_frame *frame = resize(ctx, sizeof(struct get_request));
	struct get_request *request;

	if (!frame)
		return XDP_ABORTED;
	request = (void *)frame->payload;
	write_header(&request->message, slot, OPCODE_GET, 0, sizeof(request->key));
	request->key = slot->state[SLOT_KEY];
	bench_turn_round(frame);
	write_lengths(frame, sizeof(*request));
	return XDP_TX;
}

static __always_inline int send_store(struct xdp_md *ctx, const struct bench_slot *slot,
				      __u8 opcode)
{
	struct bench_frame *frame = resize(ctx, sizeof(struct store_request));
	struct store_request *request;

	if (!frame)
		return XDP_ABORTED;
	request = (void *)frame->payload;
	write_header(&request->message, slot, opcode, sizeof(request->flags_and_expiry),
		     sizeof(*request) - sizeof(request->message));
	request->flags_and_expiry = 0;
	request->key = slot->state[SLOT_KEY];
#pragma unroll
	for (int at = 0; at < BENCH_VALUE_SIZE / 8; at++)
		request->value[at] = slot->state[SLOT_KEY];
	bench_turn_round(frame);
	write_lengths(frame, sizeof(*request));
	return XDP_TX;
}

static __always_inline int bench_ask(struct xdp_md *ctx, bool paced)
{
	struct bench_frame *frame = (void *)(long)ctx->data;
	const void *end = (void *)(long)ctx->data_end;
	enum bench_operation operation;
	struct bench_slot *slot;
	__u32 index, outcome;

	if ((void *)frame + sizeof(*frame) + BENCH_PAYLOAD_SIZE > end)
		return XDP_PASS;
	slot = bench_slot_of(frame, &index);
	if (!slot)
		return XDP_PASS;
	if (control.stopped) {
		slot->drained = 1;
		return XDP_DROP;
	}
	if (paced && !bench_is_due(index))
		return bench_wait();
	outcome = outcome_of(frame, end, slot);
	if (outcome == BENCH_STALE)
		return XDP_DROP;
	if (bench_is_loaded(slot, control.parameters))
		outcome |= BENCH_DONE;
	operation = bench_choose(slot, control.parameters, &slot->state[SLOT_KEY]);
	if (!bench_goes_on(slot, outcome))
		return XDP_DROP;
	slot->state[SLOT_ASKED] = 1;
	slot->state[SLOT_OPERATION] = operation;
	slot->state[SLOT_SEQUENCE]++;
	if (operation == BENCH_GET)
		return send_get(ctx, slot);
	return send_store(ctx, slot, operation == BENCH_UPDATE ? OPCODE_REPLACE : OPCODE_SET);
}

char license_of_program[] SEC("license") = "Dual MIT/GPL";
