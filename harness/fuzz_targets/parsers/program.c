/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Includes the emitted program. The build defines PROTOCOL_PROGRAM, its name, and the prefixes
 * PROTOCOL and PROTOCOL_UPPER. It also defines PROTOCOL_HAS_TAILS, _HAS_OPERATIONS, _FORWARDS,
 * _HAS_TC, _HAS_AHEAD and _HANDS_OVER_AT (an offset in the payload) if the program has these.
 */
#include PROTOCOL_PROGRAM

#include <setjmp.h>
#include <string.h>

#include "program.h"

#define PASTE_EXPANDED(left, right) left##right
#define PASTE(left, right) PASTE_EXPANDED(left, right)
#define NAME(suffix) PASTE(PROTOCOL, suffix)
#define CONSTANT(suffix) PASTE(PROTOCOL_UPPER, suffix)

_Static_assert((int)PROGRAM_OURS == STEPWISE_OURS && (int)PROGRAM_FOREIGN == STEPWISE_FOREIGN &&
		       (int)PROGRAM_MALFORMED == STEPWISE_MALFORMED &&
		       (int)PROGRAM_MALFORMED_CHECKSUM == STEPWISE_MALFORMED_CHECKSUM,
	       "enum program_arrival is enum stepwise_arrival");

const __u16 program_port = CONSTANT(_PORT);
const __u32 program_wire_size = CONSTANT(_WIRE_SIZE);

/* --- Reading ---------------------------------------------------------------------------------- */

#ifdef PROTOCOL_HAS_TAILS
__u32 program_tail_size(const unsigned char *payload)
{
	return NAME(_message_tail_size)(payload);
}

enum program_arrival program_parse_sent(const struct __sk_buff *skb, __u32 *udp_offset,
					const unsigned char **payload)
{
	return (enum program_arrival)stepwise_parse_sent_tailed(skb, program_port,
								CONSTANT(_WIRE_SIZE),
								NAME(_message_tail_size),
								udp_offset, payload);
}
#else
__u32 program_tail_size(const unsigned char *payload)
{
	(void)payload;
	return 0;
}

enum program_arrival program_parse_sent(const struct __sk_buff *skb, __u32 *udp_offset,
					const unsigned char **payload)
{
	return (enum program_arrival)stepwise_parse_sent(skb, program_port, CONSTANT(_WIRE_SIZE),
							 udp_offset, payload);
}
#endif

enum program_arrival program_parse_received(struct xdp_md *context, __u32 *udp_offset,
					    const unsigned char **payload)
{
#if defined(PROTOCOL_HAS_OPERATIONS)
	__u32 count;

	return (enum program_arrival)stepwise_parse_gathered(context, program_port,
							     CONSTANT(_WIRE_SIZE),
							     &NAME(_gathering), udp_offset, payload,
							     &count);
#elif defined(PROTOCOL_HAS_TAILS)
	return (enum program_arrival)stepwise_parse_tailed(context, program_port,
							   CONSTANT(_WIRE_SIZE),
							   NAME(_message_tail_size), udp_offset,
							   payload);
#else
	return (enum program_arrival)stepwise_parse(context, program_port, CONSTANT(_WIRE_SIZE),
						    udp_offset, payload);
#endif
}

#ifdef PROTOCOL_HAS_OPERATIONS
const __u32 program_operation_count_max = CONSTANT(_OPERATIONS_MAX);
const __u32 program_operation_size = CONSTANT(_OPERATION_SIZE);
#define WITHOUT_OPERATIONS                      \
	, &(const struct NAME(_operations_run)) \
	{                                       \
		.packet = context               \
	}

__u32 program_operation_count(const unsigned char *payload)
{
	return NAME(_message_operations)(payload);
}

bool program_copy_operation(const unsigned char *payload, unsigned char *copy)
{
	struct NAME(_message) message = {};
	const bool valid = NAME(_operation_decode)(payload, &message);

	NAME(_operation_encode)(copy, &message);
	return valid;
}
#else
const __u32 program_operation_count_max = 0;
const __u32 program_operation_size = 0;
#define WITHOUT_OPERATIONS

__u32 program_operation_count(const unsigned char *payload)
{
	(void)payload;
	return 0;
}

bool program_copy_operation(const unsigned char *payload, unsigned char *copy)
{
	(void)payload;
	(void)copy;
	return true;
}
#endif

#ifdef STEPWISE_PROMISCUOUS
const bool program_is_promiscuous = true;

void program_place_address(const unsigned char *address, unsigned int version,
			   enum program_place place, __u32 ifindex)
{
	(void)address;
	(void)version;
	(void)place;
	(void)ifindex;
}

void program_clear_addresses(void)
{
}
#else
const bool program_is_promiscuous = false;

/* Fills each slot with an address that belongs in another slot, so that no lookup finds it: all
 * ones, and zeros in the last slot, where all ones belong. */
void program_clear_addresses(void)
{
	memset(&stepwise_address_slots, 0xff, sizeof(stepwise_address_slots));
	stepwise_address_slots.ipv4[STEPWISE_ADDRESS_SLOTS - 1] = 0;
	memset(stepwise_address_slots.ipv6[STEPWISE_ADDRESS_SLOTS - 1], 0, 16);
}

void program_place_address(const unsigned char *address, unsigned int version,
			   enum program_place place, __u32 ifindex)
{
	struct stepwise_address key = {
		.ethertype = bpf_htons(version == 4 ? ETH_P_IP : ETH_P_IPV6), .ifindex = ifindex
	};
	const size_t size = version == 4 ? 4 : 16,
		     slot = address[size - 1] % STEPWISE_ADDRESS_SLOTS;

	program_clear_addresses();
	stepwise_address_slots.filled = place != PROGRAM_NOT_FILLED;
	if (place == PROGRAM_IN_SLOT)
		memcpy(version == 4 ? (void *)&stepwise_address_slots.ipv4[slot] :
				      (void *)stepwise_address_slots.ipv6[slot],
		       address, size);
	memcpy(key.words, address, size);
	if (place == PROGRAM_IN_MAP)
		kernel_enter(&key, sizeof(key));
}
#endif

#ifdef PROTOCOL_HANDS_OVER_AT
const bool program_hands_over = true;
const __u32 program_fields_size = PROTOCOL_HANDS_OVER_AT;

bool program_copy_request(const unsigned char *payload, unsigned char *copy)
{
	struct NAME(_message) message;
	const bool valid = NAME(_message_decode)(payload, &message);

	NAME(_message_encode_answer)(copy, &message);
	return valid;
}

bool program_copy_handed_over(const unsigned char *payload, unsigned char *copy)
{
	struct NAME(_message) message;
	const bool valid = NAME(_message_decode_handed_over)(payload, &message);

	NAME(_message_encode)(copy, &message);
	return valid;
}

#define DECODE_ALL NAME(_message_decode_handed_over)
#else
const bool program_hands_over = false;
const __u32 program_fields_size = CONSTANT(_WIRE_SIZE);

bool program_copy_request(const unsigned char *payload, unsigned char *copy)
{
	struct NAME(_message) message;
	const bool valid = NAME(_message_decode)(payload, &message);

	NAME(_message_encode)(copy, &message);
	return valid;
}

bool program_copy_handed_over(const unsigned char *payload, unsigned char *copy)
{
	return program_copy_request(payload, copy);
}

#define DECODE_ALL NAME(_message_decode)
#endif

/* --- Whole programs, and their ends ----------------------------------------------------------- */

#ifdef PROTOCOL_HAS_OPERATIONS
static jmp_buf continues;

/* A program that continues in another one never returns. */
long bpf_tail_call(void *context, const void *programs, __u32 index)
{
	(void)context;
	(void)programs;
	(void)index;
	longjmp(continues, 1);
}

int program_xdp(struct xdp_md *context)
{
	return setjmp(continues) ? NAME(_gathered)(context) : NAME(_xdp)(context);
}
#else
int program_xdp(struct xdp_md *context)
{
	return NAME(_xdp)(context);
}
#endif

#ifdef PROTOCOL_HAS_AHEAD
const bool program_has_ahead = true;
#define SENDS(verdict) , verdict

int program_ahead(struct xdp_md *context)
{
	return NAME(_ahead)(context);
}

#else
const bool program_has_ahead = false;
#define SENDS(verdict)

int program_ahead(struct xdp_md *context)
{
	(void)context;
	return XDP_ABORTED;
}
#endif

int program_answer(struct xdp_md *context, __u32 udp_offset, const unsigned char *fields)
{
	struct NAME(_message) message;

	DECODE_ALL(fields, &message);
	return NAME(_xdp_reply)(context, udp_offset, &message WITHOUT_OPERATIONS SENDS(XDP_TX));
}

#ifdef PROTOCOL_FORWARDS
const bool program_forwards = true;

const unsigned char *program_ring_frame(__u32 *size)
{
	const struct stepwise_ring_frame *frame = kernel_ring_sample();

	*size = frame ? frame->size : 0;
	return frame ? frame->bytes : NULL;
}

void program_open_ring(void)
{
	const __u32 key = 0;
	struct stepwise_ring_limits *limits = bpf_map_lookup_elem(&stepwise_ring_limits, &key);

	limits->bytes_max = STEPWISE_RING_BYTES;
}
#ifdef PROTOCOL_HANDS_OVER_AT
int program_forward(struct xdp_md *context, __u32 udp_offset, const unsigned char *fields)
{
	struct NAME(_message) message;

	DECODE_ALL(fields, &message);
	return NAME(_xdp_forward)(context, udp_offset, &message SENDS(XDP_TX));
}
#else
int program_forward(struct xdp_md *context, __u32 udp_offset, const unsigned char *fields)
{
	(void)fields;
	return NAME(_xdp_forward)(context, udp_offset SENDS(XDP_TX));
}
#endif
#else
const bool program_forwards = false;

const unsigned char *program_ring_frame(__u32 *size)
{
	*size = 0;
	return NULL;
}

void program_open_ring(void)
{
}

int program_forward(struct xdp_md *context, __u32 udp_offset, const unsigned char *fields)
{
	(void)context;
	(void)udp_offset;
	(void)fields;
	return XDP_PASS;
}
#endif

#ifdef PROTOCOL_HAS_TC
const bool program_has_tc = true;

void program_set_sender(__u64 cookie)
{
	const __u32 key = 0;
	__u64 *sender = bpf_map_lookup_elem(&stepwise_sender, &key);

	*sender = cookie;
}

int program_tc(struct __sk_buff *skb)
{
	return NAME(_tc)(skb);
}

int program_complete(struct __sk_buff *skb, __u32 udp_offset, const unsigned char *fields)
{
	struct NAME(_message) message;

	DECODE_ALL(fields, &message);
	return NAME(_tc_reply)(skb, udp_offset, &message);
}
#else
const bool program_has_tc = false;

void program_set_sender(__u64 cookie)
{
	(void)cookie;
}

int program_tc(struct __sk_buff *skb)
{
	(void)skb;
	return TC_ACT_UNSPEC;
}

int program_complete(struct __sk_buff *skb, __u32 udp_offset, const unsigned char *fields)
{
	(void)skb;
	(void)udp_offset;
	(void)fields;
	return TC_ACT_UNSPEC;
}
#endif
