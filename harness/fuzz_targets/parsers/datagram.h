/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A plain reader of frames, written from the RFCs (768, 791, 1071, 8200) and
 * docs/reference/wire.md. It shares nothing with runtime/bpf. It reads byte by byte, and compares
 * every length before it reads that far.
 */
#ifndef STEPWISE_PARSERS_DATAGRAM_H
#define STEPWISE_PARSERS_DATAGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DATAGRAM_ETHERNET_SIZE 14u
#define DATAGRAM_UDP_SIZE 8u

/* A UDP datagram to one receiver: in IPv4 without options or fragments, or in IPv6 without
 * extension headers. */
struct datagram {
	unsigned int version; /* 4 or 6 */
	size_t addresses_at;  /* source, then destination */
	size_t address_size;
	size_t udp_at;	      /* the whole header is there */
	size_t available;     /* bytes from udp_at to the frame's end */
	bool is_header_right; /* IPv4's header checksum; true in IPv6, which has none */
	long network_size; /* bytes behind the network header, by its length field; negative if that
			      is shorter than the header */
	uint16_t source_port;
	uint16_t destination_port;
	uint16_t size; /* by UDP's header */
	uint16_t checksum;
};

uint16_t datagram_read(const unsigned char *at);
void datagram_write(unsigned char *at, uint16_t value);

/* Finds the datagram in a frame; returns false if there is none. */
bool datagram_find(const unsigned char *frame, size_t frame_size, struct datagram *found);

/* Returns the one's complement sum of the pseudo header and the datagram, which must be complete.
 * The checksum is right if it is 0xffff. */
uint16_t datagram_sum(const unsigned char *frame, const struct datagram *found);

/* Corrects the checksum of an IPv4 header of 20 bytes, if the frame has one; its other fields may
 * be wrong. */
void datagram_repair_header(unsigned char *frame, size_t frame_size);

/* Sets the lengths for a datagram of `size` bytes, and corrects the checksums; UDP's only if the
 * frame has all these bytes. */
void datagram_repair(unsigned char *frame, const struct datagram *found, uint16_t size);

#endif
