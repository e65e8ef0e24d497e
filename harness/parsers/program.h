/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* A protocol's programs, compiled natively, and the parts of them that a target runs one by one. */
#ifndef STEPWISE_PARSERS_PROGRAM_H
#define STEPWISE_PARSERS_PROGRAM_H

#include <stdbool.h>
#include <linux/bpf.h>

/* As enum stepwise_arrival has them, for those who do not include the program's headers. */
enum program_arrival {
	PROGRAM_OURS,
	PROGRAM_FOREIGN,
	PROGRAM_MALFORMED,
	PROGRAM_MALFORMED_CHECKSUM,
};

/* Where a program finds a destination among this host's addresses. */
enum program_place {
	PROGRAM_NOT_FILLED, /* it was loaded past the loader, and takes any for this host's */
	PROGRAM_NOWHERE,
	PROGRAM_IN_SLOT,
	PROGRAM_IN_MAP,
};

extern const __u16 program_port;
extern const __u32 program_wire_size;	/* bytes of a message without its tail */
extern const __u32 program_fields_size; /* of these, what is not handed over between hooks */
extern const bool program_hands_over;
extern const bool program_forwards;  /* to a daemon */
extern const bool program_has_ahead; /* a second XDP program, of packets that the first has put off
				      */
extern const bool program_has_tc;
extern const bool program_is_promiscuous; /* serves what is for other hosts as well */

/* Bytes behind the message that its fields tell of. */
__u32 program_tail_size(const unsigned char *payload);

/* Whose a packet is that XDP, or TC, is given; where it is ours, `*udp_offset` and `*payload` are
 * set. */
enum program_arrival program_parse_received(struct xdp_md *context, __u32 *udp_offset,
					    const unsigned char **payload);
enum program_arrival program_parse_sent(const struct __sk_buff *skb, __u32 *udp_offset,
					const unsigned char **payload);

/* Decodes a payload and encodes it into `copy`. Whether all fields are of their types. */
bool program_copy_request(const unsigned char *payload, unsigned char *copy);
/* Likewise with what is handed over between hooks. */
bool program_copy_handed_over(const unsigned char *payload, unsigned char *copy);

/* The whole programs, and their verdicts. */
int program_xdp(struct xdp_md *context);
int program_ahead(struct xdp_md *context);
int program_tc(struct __sk_buff *skb);

/* What XDP does with a packet of ours that is answered, or forwarded, with the message that
 * `fields` decodes to. */
int program_answer(struct xdp_md *context, __u32 udp_offset, const unsigned char *fields);
int program_forward(struct xdp_md *context, __u32 udp_offset, const unsigned char *fields);
/* What TC does with one that it completes. */
int program_complete(struct __sk_buff *skb, __u32 udp_offset, const unsigned char *fields);

/* The bytes that the ring buffer was given since kernel_begin(), and how many, or NULL. */
const unsigned char *program_ring_frame(__u32 *size);
/* From now to the next kernel_begin() the ring buffer takes packets. */
void program_open_ring(void);
/* No address is this host's; then this one is, of IPv4 or IPv6, where `place` says. `ifindex`: of
 * its link, where it is of one. */
void program_clear_addresses(void);
void program_place_address(const unsigned char *address, unsigned int version,
			   enum program_place place, __u32 ifindex);
/* From now to the next kernel_begin() the daemon sends by the socket with this cookie. */
void program_set_sender(__u64 cookie);

#endif
