/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A plain reader of frames, from the RFCs (768, 791, 1071, 8200) and docs/layout.md; it knows
 * nothing of runtime/bpf, byte by byte, and every length is compared before what it is of is read.
 */
#ifndef STEPWISE_PARSERS_DATAGRAM_H
#define STEPWISE_PARSERS_DATAGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DATAGRAM_ETHERNET_SIZE 14u
#define DATAGRAM_UDP_SIZE 8u

/* A UDP datagram to one receiver, in IPv4 without options that is no fragment, or in IPv6 without
 * extension headers. */
struct datagram {
	unsigned int version; /* 4 or 6 */
	size_t addresses_at;  /* source, then destination */
	size_t address_size;
	size_t udp_at;	      /* the header is all there */
	size_t available;     /* bytes from there to the frame's end */
	bool is_header_right; /* the checksum of IPv4's header; IPv6 has none */
	long network_size; /* bytes behind the network header, as that says; negative where it says
			      less than itself */
	uint16_t source_port;
	uint16_t destination_port;
	uint16_t size; /* as UDP's header says */
	uint16_t checksum;
};

uint16_t datagram_read(const unsigned char *at);
void datagram_write(unsigned char *at, uint16_t value);

/* Whether a frame has one. */
bool datagram_find(const unsigned char *frame, size_t frame_size, struct datagram *found);

/* One's complement sum of the pseudo header and of the datagram, which must be all there: 0xffff
 * where the checksum is right. */
uint16_t datagram_sum(const unsigned char *frame, const struct datagram *found);

/* Makes the checksum right of an IPv4 header of 20 bytes, whatever it says, where a frame has one.
 */
void datagram_repair_header(unsigned char *frame, size_t frame_size);

/* Makes the lengths say that the datagram has `size` bytes, and the checksums right; UDP's where it
 * has these. */
void datagram_repair(unsigned char *frame, const struct datagram *found, uint16_t size);

#endif
