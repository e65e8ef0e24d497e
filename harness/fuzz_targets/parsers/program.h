/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* A protocol's programs, compiled natively, and those parts that a target runs one by one. */
#ifndef STEPWISE_PARSERS_PROGRAM_H
#define STEPWISE_PARSERS_PROGRAM_H

#include <stdbool.h>
#include <linux/bpf.h>

/* The values of enum stepwise_arrival, for files that do not include the program's headers. */
enum program_arrival {
	PROGRAM_OURS,
	PROGRAM_FOREIGN,
	PROGRAM_MALFORMED,
	PROGRAM_MALFORMED_CHECKSUM,
};

/* The places where a program may find a destination among this host's addresses. */
enum program_place {
	PROGRAM_NOT_FILLED, /* the loader did not fill them: any address is this host's */
	PROGRAM_NOWHERE,
	PROGRAM_IN_SLOT,
	PROGRAM_IN_MAP,
};

extern const __u16 program_port;
extern const __u32 program_wire_size;	/* bytes of a message without its tail or its operations */
extern const __u32 program_fields_size; /* of these, bytes that hooks do not hand over */
extern const bool program_hands_over;
extern const bool program_forwards;  /* to a daemon */
extern const bool program_has_ahead; /* a second XDP program, for packets that the first put off */
extern const bool program_has_tc;
extern const bool program_is_promiscuous; /* also serves packets to other hosts */

/* Bytes of the tail that the message's fields require. */
__u32 program_tail_size(const unsigned char *payload);

/* Operations that the message's fields require; and bytes of each, or 0 if no message has any. */
__u32 program_operation_count(const unsigned char *payload);
extern const __u32 program_operation_count_max;
extern const __u32 program_operation_size;

/* Decodes an operation and encodes it into `copy`. Returns whether all fields are of their types.
 */
bool program_copy_operation(const unsigned char *payload, unsigned char *copy);

/* Classifies a packet that XDP, or TC, receives; if it is ours, sets `*udp_offset` and
 * `*payload`. */
enum program_arrival program_parse_received(struct xdp_md *context, __u32 *udp_offset,
					    const unsigned char **payload);
enum program_arrival program_parse_sent(const struct __sk_buff *skb, __u32 *udp_offset,
					const unsigned char **payload);

/* Decodes a payload and encodes it into `copy`. Returns whether all fields are of their types. */
bool program_copy_request(const unsigned char *payload, unsigned char *copy);
/* The same, with the fields that hooks hand over. */
bool program_copy_handed_over(const unsigned char *payload, unsigned char *copy);

/* Run the whole programs; return their verdicts. */
int program_xdp(struct xdp_md *context);
int program_ahead(struct xdp_md *context);
int program_tc(struct __sk_buff *skb);

/* Do what XDP does with a packet of ours that it answers or forwards. The message is decoded from
 * `fields`. */
int program_answer(struct xdp_md *context, __u32 udp_offset, const unsigned char *fields);
int program_forward(struct xdp_md *context, __u32 udp_offset, const unsigned char *fields);
/* Does what TC does with an answer that it completes. */
int program_complete(struct __sk_buff *skb, __u32 udp_offset, const unsigned char *fields);

/* Returns the bytes that the ring buffer received since kernel_begin(), and their number, or
 * NULL. */
const unsigned char *program_ring_frame(__u32 *size);
/* Lets the ring buffer accept packets until the next kernel_begin(). */
void program_open_ring(void);
/* Clear this host's addresses, or make `address` the only one, of IPv4 or IPv6, in `place`.
 * `ifindex`: its link, if it is link-local. */
void program_clear_addresses(void);
void program_place_address(const unsigned char *address, unsigned int version,
			   enum program_place place, __u32 ifindex);
/* Makes the socket with this cookie the daemon's until the next kernel_begin(). */
void program_set_sender(__u64 cookie);

#endif
