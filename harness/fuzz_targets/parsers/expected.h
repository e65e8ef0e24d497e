/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Classifies frames by docs/reference/wire.md with the plain reader: the oracle of target.c. */
#ifndef PARSERS_EXPECTED_H
#define PARSERS_EXPECTED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <linux/types.h>

#include "datagram.h"
#include "program.h"

#define LOOPBACK 1u /* index of the interface lo */

/* An input, the plain reader's findings, and random draws that depend on the input alone. */
struct input {
	const unsigned char *frame;
	size_t size;
	bool is_datagram;
	struct datagram datagram;
	uint64_t draws;
	unsigned int set_up; /* elements of maps before a program runs */
	__u32 ifindex;	     /* the interface it arrives on */
	enum program_place place;
};

static const unsigned char *payload_of(const struct input *input)
{
	return input->frame + input->datagram.udp_at + DATAGRAM_UDP_SIZE;
}

static bool is_zero(const unsigned char *bytes, size_t size)
{
	while (size)
		if (bytes[--size])
			return false;
	return true;
}

/* Returns the bytes of a datagram with this message and the tail that the message requires; 0 if
 * the message is not complete. */
static size_t tailed_size(const struct input *input)
{
	const size_t fixed_size = DATAGRAM_UDP_SIZE + program_wire_size;

	return input->datagram.available < fixed_size ?
		       0 :
		       fixed_size + program_tail_size(payload_of(input));
}

/* Returns the number of a message's operations; 0 if the message is not complete. */
static __u32 operation_count(const struct input *input)
{
	return tailed_size(input) ? program_operation_count(payload_of(input)) : 0;
}

/* Returns the bytes of a datagram with this message, its tail and its operations; 0 if the message
 * is not complete, or has more operations than a message may have. */
static size_t message_size(const struct input *input)
{
	const __u32 count = operation_count(input);

	return count > program_operation_count_max ?
		       0 :
		       tailed_size(input) + count * program_operation_size;
}

static const unsigned char *operation_of(const struct input *input, __u32 number)
{
	return payload_of(input) + program_wire_size + number * program_operation_size;
}

static bool are_operations_right(const struct input *input)
{
	unsigned char *copy = malloc(program_operation_size + 1);
	bool right = true;

	for (__u32 number = 0; number < operation_count(input); number++)
		right &= program_copy_operation(operation_of(input, number), copy);
	free(copy);
	return right;
}

static bool is_between(unsigned int number, unsigned int first, unsigned int last)
{
	return number >= first && number <= last;
}

/* Whether the source is a host on a wire, by RFC 1122, 4291 and 5771. On lo, loopback addresses are
 * the host's own. */
static bool is_source_right(const struct input *input)
{
	const unsigned char *source = input->frame + input->datagram.addresses_at;

	if (input->datagram.version == 6)
		return source[0] != 0xff && (input->ifindex == LOOPBACK || !is_zero(source, 8));
	return source[0] && !is_between(source[0], 224, 255) &&
	       (source[0] != 127 || input->ifindex == LOOPBACK);
}

static const unsigned char *destination_of(const struct input *input)
{
	return input->frame + input->datagram.addresses_at + input->datagram.address_size;
}

static bool is_destination_right(const struct input *input)
{
	const unsigned char first = *destination_of(input);

	if (input->ifindex == LOOPBACK)
		return true;
	if (program_is_promiscuous)
		return input->datagram.version == 6 ? first != 0xff : first < 224;
	return input->place != PROGRAM_NOWHERE;
}

static bool is_checksum_right(const struct input *input)
{
	return input->datagram.checksum && datagram_sum(input->frame, &input->datagram) == 0xffff;
}

static enum program_arrival expect_received(const struct input *input)
{
	const struct datagram *datagram = &input->datagram;
	const size_t size = input->is_datagram ? message_size(input) : 0;

	if (!input->is_datagram || datagram->destination_port != program_port ||
	    !is_source_right(input) || !is_destination_right(input))
		return PROGRAM_FOREIGN;
	if (!size || datagram->available < size || datagram->size != size ||
	    datagram->network_size != (long)size)
		return PROGRAM_MALFORMED;
	if (datagram->checksum ? !is_checksum_right(input) : datagram->version == 6)
		return PROGRAM_MALFORMED_CHECKSUM;
	return are_operations_right(input) ? PROGRAM_OURS : PROGRAM_MALFORMED;
}

/* A packet of this host: the device may set its checksum later, and an answer's tail may be
 * missing. The daemon answers no message with operations. */
static enum program_arrival expect_sent(const struct input *input)
{
	const struct datagram *datagram = &input->datagram;
	const size_t size = input->is_datagram ? tailed_size(input) : 0;

	if (!input->is_datagram || datagram->source_port != program_port)
		return PROGRAM_FOREIGN;
	if (!size || datagram->network_size != datagram->size ||
	    datagram->available < datagram->size)
		return PROGRAM_MALFORMED;
	return datagram->size == size || datagram->size == DATAGRAM_UDP_SIZE + program_wire_size ?
		       PROGRAM_OURS :
		       PROGRAM_MALFORMED;
}

#endif
