/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The target of libFuzzer. An input is a frame. A protocol's programs receive it as it comes by,
 * and as a packet that this host sends. Each check says what must hold. The target keeps nothing
 * from one input to the next, and draws the network's decisions from the input's bytes, so that an
 * input has the same effect in every run.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/pkt_cls.h>

#include "datagram.h"
#include "expected.h"
#include "kernel.h"
#include "program.h"

#define SENDER 0x5e4de2u /* the cookie of the daemon's socket */

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t size_max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_max, unsigned int seed);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "parsers: this does not hold: %s\n", what);
	abort();
}

/* SplitMix64. */
static uint64_t draw(struct input *input)
{
	uint64_t value = input->draws += 0x9e3779b97f4a7c15u;

	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
	value = (value ^ value >> 27) * 0x94d049bb133111ebu;
	return value ^ value >> 31;
}

/* FNV-1a. */
static uint64_t hash(const unsigned char *bytes, size_t size)
{
	uint64_t value = 0xcbf29ce484222325u;

	for (size_t at = 0; at < size; at++)
		value = (value ^ bytes[at]) * 0x100000001b3u;
	return value;
}

/* Returns true if no cell was read: the program looked up at most one of the counters. The program
 * for messages with operations, which also sees malformed ones, keeps its message in an element. */
static bool is_unread(const struct input *input)
{
	const enum program_arrival expected = expect_received(input);
	const bool looks = input->is_datagram && program_operation_size &&
			   (operation_count(input) || expected == PROGRAM_MALFORMED ||
			    expected == PROGRAM_MALFORMED_CHECKSUM);

	return kernel_element_count() <= input->set_up + 1 + looks;
}

/* --- What a program may have done to a packet ------------------------------------------------- */

static void exchange(unsigned char *one, unsigned char *other, size_t size)
{
	for (size_t at = 0; at < size; at++) {
		const unsigned char byte = one[at];

		one[at] = other[at];
		other[at] = byte;
	}
}

static void turn_round(unsigned char *frame, const struct datagram *datagram)
{
	exchange(frame, frame + ETH_ALEN, ETH_ALEN);
	exchange(frame + datagram->addresses_at,
		 frame + datagram->addresses_at + datagram->address_size, datagram->address_size);
	exchange(frame + datagram->udp_at, frame + datagram->udp_at + 2, 2);
}

static void check_untouched(const struct input *input, const unsigned char *packet)
{
	check(!input->size || !memcmp(packet, input->frame, input->size),
	      "a packet that is foreign, or not answered, stays unchanged");
}

/* Checks a packet with a new message in it. `turned`: sender and receiver change places.
 * `answered`: it goes to a client. */
static void check_rewritten(const struct input *input, const unsigned char *packet, bool turned,
			    bool answered)
{
	const struct datagram *datagram = &input->datagram;
	const size_t checksum_at = datagram->udp_at + 6,
		     payload_at = datagram->udp_at + DATAGRAM_UDP_SIZE;
	const size_t operations_size = turned ? operation_count(input) * program_operation_size : 0;
	const size_t behind = payload_at + program_wire_size + operations_size;
	const uint16_t checksum = datagram_read(packet + checksum_at);
	unsigned char headers[DATAGRAM_ETHERNET_SIZE + 40 + DATAGRAM_UDP_SIZE];

	memcpy(headers, input->frame, payload_at);
	if (turned)
		turn_round(headers, datagram);
	check(!memcmp(packet, headers, checksum_at),
	      "headers stay, and are turned round in an answer");
	check(!memcmp(packet + behind, input->frame + behind, input->size - behind),
	      "the bytes behind the message, and behind the operations of an answer, stay unchanged");
	if (!datagram->checksum)
		check(!checksum, "a message without a checksum stays without one");
	else if (is_checksum_right(input))
		check(checksum && datagram_sum(packet, datagram) == 0xffff,
		      "a right checksum is right again after the change");
	if (answered)
		check(is_zero(packet + payload_at + program_fields_size,
			      program_wire_size - program_fields_size),
		      "a client does not receive handover fields");
}

/* Makes the message that a program must write: noise, all ones or zeros, or the message that came
 * with a byte changed. */
static unsigned char *new_fields(struct input *input)
{
	unsigned char *fields = malloc(program_wire_size);
	const uint64_t kind = draw(input);

	for (__u32 at = 0; at < program_wire_size; at++)
		fields[at] = kind & 1 ? (unsigned char)draw(input) : kind & 2 ? 0 : 0xff;
	if (kind & 4) {
		memcpy(fields, payload_of(input), program_wire_size);
		fields[draw(input) % program_wire_size] ^= (unsigned char)draw(input);
	}
	return fields;
}

/* --- The codec -------------------------------------------------------------------------------- */

static void check_operation(const unsigned char *payload)
{
	unsigned char *copy = malloc(program_operation_size);

	if (program_copy_operation(payload, copy))
		check(!memcmp(copy, payload, program_operation_size),
		      "decoding and encoding an operation gives the same operation");
	free(copy);
}

static void check_codec(const struct input *input)
{
	unsigned char *payload, *copy;

	if (!input->is_datagram || !message_size(input))
		return;
	payload = malloc(program_wire_size);
	copy = malloc(program_wire_size);
	memcpy(payload, payload_of(input), program_wire_size);
	if (program_copy_request(payload, copy)) {
		check(!memcmp(copy, payload, program_fields_size),
		      "decoding and encoding a message gives the same message");
		check(is_zero(copy + program_fields_size, program_wire_size - program_fields_size),
		      "handover fields of a client are not read");
	}
	if (program_copy_handed_over(payload, copy))
		check(!memcmp(copy, payload, program_wire_size),
		      "decoding and encoding handover fields gives the same fields");
	check(!memcmp(payload, payload_of(input), program_wire_size), "decoding changes nothing");
	if (message_size(input) <= input->datagram.available)
		for (__u32 number = 0; number < operation_count(input); number++)
			check_operation(operation_of(input, number));
	free(copy);
	free(payload);
}

/* --- XDP -------------------------------------------------------------------------------------- */

static bool is_link_local(const struct input *input)
{
	const unsigned char *destination = destination_of(input);

	return input->datagram.version == 6 && destination[0] == 0xfe && destination[1] >> 6 == 2;
}

static unsigned char *begin_xdp(struct input *input, struct xdp_md *context)
{
	unsigned char *packet = kernel_packet_new(input->frame, input->size);

	kernel_begin(draw(input) & 1, draw(input) & 1);
	if (draw(input) & 1)
		program_open_ring();
	program_clear_addresses();
	if (input->is_datagram)
		program_place_address(destination_of(input), input->datagram.version, input->place,
				      is_link_local(input) ? input->ifindex : 0);
	input->set_up = kernel_element_count();
	*context = (struct xdp_md){ .data = (unsigned long)packet,
				    .data_end = (unsigned long)packet + input->size,
				    .ingress_ifindex = input->ifindex };
	return packet;
}

static void check_parsed(struct input *input, enum program_arrival expected)
{
	struct xdp_md context;
	unsigned char *packet = begin_xdp(input, &context);
	const unsigned char *payload = NULL;
	__u32 udp_offset = 0;

	check(program_parse_received(&context, &udp_offset, &payload) == expected,
	      "the program and the plain reader of RFC 768, 791 and 8200 agree on whose packet it is");
	if (expected == PROGRAM_OURS)
		check(udp_offset == input->datagram.udp_at &&
			      payload == packet + udp_offset + DATAGRAM_UDP_SIZE,
		      "a message is where the plain reader finds it");
	check_untouched(input, packet);
	kernel_packet_free(packet);
}

/* Checks a packet that was dropped: the daemon has a copy, or nobody has. */
static void check_dropped(const struct input *input, const unsigned char *packet)
{
	__u32 sample_size;
	const unsigned char *sample = program_ring_frame(&sample_size);

	check(!memcmp(packet, input->frame, input->datagram.udp_at),
	      "a dropped packet is not turned round");
	if (!sample)
		return;
	check_rewritten(input, packet, false, false);
	check(sample_size == input->datagram.udp_at + message_size(input) &&
		      !memcmp(sample, packet, sample_size),
	      "the ring buffer has a packet's headers and message, with its tail and without padding");
}

/* Checks a packet that no daemon serves: it goes up the stack, with a blank message. */
static void check_refused(const struct input *input, const unsigned char *packet)
{
	check_rewritten(input, packet, false, false);
	check(is_zero(packet + input->datagram.udp_at + DATAGRAM_UDP_SIZE, program_wire_size),
	      "a packet that nothing serves has a blank message");
	check(message_size(input) == DATAGRAM_UDP_SIZE + program_wire_size,
	      "a packet that nothing serves has no tail");
}

/* Checks a packet that was put off: the second program sees it as the first one left it. */
static void check_ahead(struct input *input, struct xdp_md *context, const unsigned char *packet)
{
	const int verdict = program_ahead(context);

	check(verdict == XDP_PASS || verdict == XDP_DROP,
	      "the second program sends a packet or drops it");
	if (verdict == XDP_PASS)
		check_rewritten(input, packet, true, true);
	else
		check_dropped(input, packet);
}

static void check_ours(struct input *input, struct xdp_md *context, const unsigned char *packet,
		       int verdict)
{
	unsigned char *copy = malloc(program_wire_size);
	const bool valid = program_copy_request(payload_of(input), copy);

	free(copy);
	if (!valid)
		check(verdict == XDP_DROP && is_unread(input),
		      "values outside their types are malformed");
	switch (verdict) {
	case XDP_TX:
		check_rewritten(input, packet, true, true);
		break;
	case XDP_REDIRECT:
		check_rewritten(input, packet, false, false);
		if (program_has_ahead && !memcmp(packet, input->frame, input->size))
			check_ahead(input, context, packet);
		break;
	case XDP_PASS:
		check_refused(input, packet);
		break;
	case XDP_DROP:
		check_dropped(input, packet);
		break;
	default:
		check(false, "a packet of ours is answered, forwarded or dropped");
	}
}

static void check_xdp(struct input *input, enum program_arrival expected)
{
	struct xdp_md context;
	unsigned char *packet = begin_xdp(input, &context);
	const int verdict = program_xdp(&context);

	if (expected == PROGRAM_OURS) {
		check_ours(input, &context, packet, verdict);
	} else {
		check(verdict == (expected == PROGRAM_FOREIGN ? XDP_PASS : XDP_DROP),
		      "foreign packets are passed on, malformed ones dropped");
		check(is_unread(input), "no cell is read for a foreign packet");
		check_untouched(input, packet);
	}
	kernel_packet_free(packet);
}

/* Runs the ends of XDP whatever the steps decide, because they answer few messages while maps are
 * empty. */
static void check_answers(struct input *input)
{
	unsigned char *fields = new_fields(input), *packet;
	struct xdp_md context;
	int verdict;

	packet = begin_xdp(input, &context);
	check(program_answer(&context, (__u32)input->datagram.udp_at, fields) == XDP_TX,
	      "an answer is sent");
	check_rewritten(input, packet, true, true);
	kernel_packet_free(packet);
	if (program_forwards && !operation_count(input)) {
		packet = begin_xdp(input, &context);
		verdict = program_forward(&context, (__u32)input->datagram.udp_at, fields);
		if (verdict == XDP_PASS)
			check_refused(input, packet);
		else if (verdict == XDP_DROP)
			check_dropped(input, packet);
		else
			check_rewritten(input, packet, false, false);
		check(verdict == XDP_PASS || verdict == XDP_DROP || verdict == XDP_REDIRECT,
		      "a forwarded packet goes to the daemon or is refused");
		kernel_packet_free(packet);
	}
	free(fields);
}

/* --- TC --------------------------------------------------------------------------------------- */

/* Returns the whole packet that this host sends, as the program left it. */
static unsigned char *sent(const struct input *input, const struct __sk_buff *skb)
{
	unsigned char *packet = malloc(input->size + 1);

	if (input->size)
		memcpy(packet, input->frame, input->size);
	memcpy(packet, (const void *)skb->data, skb->data_end - skb->data);
	return packet;
}

static void check_sent_parsed(const struct input *input, enum program_arrival expected)
{
	const unsigned char *payload = NULL;
	struct __sk_buff skb;
	__u32 udp_offset = 0;

	kernel_skb_begin(&skb, input->frame, input->size, input->size);
	check(program_parse_sent(&skb, &udp_offset, &payload) == expected,
	      "the program and the plain reader agree on whose packet this host sends");
	if (expected == PROGRAM_OURS)
		check(udp_offset == input->datagram.udp_at &&
			      payload == (const unsigned char *)skb.data + udp_offset +
						 DATAGRAM_UDP_SIZE,
		      "a message of this host's is where the plain reader finds it");
	kernel_skb_end(&skb);
}

static void check_tc(struct input *input, enum program_arrival expected)
{
	static const size_t head_sizes[] = { SIZE_MAX, DATAGRAM_ETHERNET_SIZE, 42, 62 };
	const size_t head_size =
		head_sizes[draw(input) % (sizeof(head_sizes) / sizeof(head_sizes[0]))];
	const bool had_daemon = draw(input) & 3, is_daemons = had_daemon && draw(input) & 3,
		   is_from_port = !(draw(input) & 7);
	struct bpf_sock sender = { .protocol = IPPROTO_UDP, .src_port = program_port };
	struct __sk_buff skb;
	unsigned char *packet;
	int verdict;

	kernel_begin(false, false);
	kernel_skb_begin(&skb, input->frame, input->size,
			 head_size < input->size ? head_size : input->size);
	skb.ingress_ifindex = !(draw(input) & 7);
	skb.has_no_memory = !(draw(input) & 7);
	program_set_sender(had_daemon ? SENDER : 0);
	input->set_up = kernel_element_count();
	skb.cookie = is_daemons ? SENDER : draw(input) & 1;
	skb.sk = is_from_port ? &sender : NULL;
	if (skb.ingress_ifindex)
		expected = PROGRAM_FOREIGN;
	verdict = program_tc(&skb);
	packet = sent(input, &skb);
	if (skb.has_no_memory && !skb.ingress_ifindex && verdict == TC_ACT_SHOT) {
		check(is_unread(input) || expected == PROGRAM_OURS,
		      "no cell is read for an unreadable packet");
	} else if (expected == PROGRAM_OURS && !is_daemons) {
		check(verdict == TC_ACT_SHOT, "an answer that is not the daemon's is dropped");
		check(is_unread(input), "no cell is read for an answer that is not the daemon's");
	} else if (expected == PROGRAM_FOREIGN && is_from_port && !skb.ingress_ifindex) {
		check(verdict == TC_ACT_SHOT,
		      "a packet that leaves by the service's port is dropped, however it looks");
	} else if (expected == PROGRAM_OURS) {
		check(verdict == TC_ACT_OK || verdict == TC_ACT_SHOT,
		      "an answer of this host's is completed or dropped");
		if (verdict == TC_ACT_OK)
			check_rewritten(input, packet, false, true);
	} else {
		check(verdict == (expected == PROGRAM_FOREIGN ? TC_ACT_UNSPEC : TC_ACT_SHOT),
		      "packets of other ports pass, and malformed answers are dropped");
		check(is_unread(input),
		      "no cell is read for a packet that is not an answer of this host");
	}
	if (verdict != TC_ACT_OK)
		check_untouched(input, packet);
	free(packet);
	kernel_skb_end(&skb);
}

static void check_completed(struct input *input)
{
	unsigned char *fields = new_fields(input), *packet;
	struct __sk_buff skb;

	kernel_begin(false, false);
	kernel_skb_begin(&skb, input->frame, input->size, input->size);
	check(program_complete(&skb, (__u32)input->datagram.udp_at, fields) == TC_ACT_OK,
	      "a completed answer is sent");
	packet = sent(input, &skb);
	check_rewritten(input, packet, false, true);
	free(packet);
	kernel_skb_end(&skb);
	free(fields);
}

/* --- libFuzzer's ------------------------------------------------------------------------------ */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = { .frame = data, .size = size, .draws = hash(data, size) };
	enum program_arrival expected;

	input.is_datagram = datagram_find(data, size, &input.datagram) &&
			    input.datagram.is_header_right;
	input.ifindex = LOOPBACK + (draw(&input) & 3);
	input.place = draw(&input) % (PROGRAM_IN_MAP + 1);
	check_codec(&input);
	expected = expect_received(&input);
	check_parsed(&input, expected);
	check_xdp(&input, expected);
	if (expected == PROGRAM_OURS)
		check_answers(&input);
	if (program_has_tc) {
		expected = expect_sent(&input);
		check_sent_parsed(&input, expected);
		check_tc(&input, expected);
		if (expected == PROGRAM_OURS)
			check_completed(&input);
	}
	kernel_begin(false, false); /* else ASan reports the last run's memory as a leak */
	return 0;
}

/* Makes faults that random changes seldom make, in a frame that is otherwise right. */
static void spoil(unsigned char *frame, const struct datagram *datagram, unsigned int choice)
{
	unsigned char *udp = frame + datagram->udp_at;

	switch (choice % 16) {
	case 0:
		datagram_write(udp + 6, 0);
		break;
	case 1:
		datagram_write(udp + 6, datagram_read(udp + 6) ^ 1);
		break;
	case 2:
		datagram_write(udp + 4, (uint16_t)(datagram_read(udp + 4) + 1));
		break;
	case 3:
		exchange(udp, udp + 2, 2);
	}
}

/* Sets addresses that programs treat specially. They find them by sums, so libFuzzer does not learn
 * the compared values. */
static void readdress(unsigned char *frame, const struct datagram *datagram, unsigned int choice)
{
	unsigned char *source = frame + datagram->addresses_at,
		      *destination = source + datagram->address_size;

	switch (choice % 16) {
	case 0:
		source[0] = datagram->version == 4 ? 127 : 0xff;
		break;
	case 1:
		memset(source, 0, datagram->address_size / 2);
		break;
	case 2:
		destination[0] = 0xfe; /* link-local, in IPv6 */
		destination[1] = 0x80;
	}
}

/* Corrects lengths and a checksum after three of four changes, because hardly any change would get
 * past these checks. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_max, unsigned int seed)
{
	struct input input = { .frame = data };
	size_t message;

	input.size = size = LLVMFuzzerMutate(data, size, size_max);
	if (seed % 4 == 0)
		return size;
	if (!datagram_find(data, size, &input.datagram)) {
		datagram_repair_header(data, size);
		return size;
	}
	if (seed % 4 == 1) {
		datagram_repair(data, &input.datagram, (uint16_t)input.datagram.available);
		return size;
	}
	/* Fill up a message that was cut; bytes that a mutation inserted become padding. */
	message = input.datagram.udp_at + DATAGRAM_UDP_SIZE + program_wire_size;
	if (size < message && message <= size_max) {
		memset(data + size, 0, message - size);
		input.size = size = message;
		input.datagram.available = size - input.datagram.udp_at;
	}
	if (size < message)
		return size;
	message = message_size(&input);
	if (input.datagram.udp_at + message > size && input.datagram.udp_at + message <= size_max) {
		memset(data + size, (int)(seed >> 8), input.datagram.udp_at + message - size);
		size = input.datagram.udp_at + message;
		input.datagram.available = message;
	}
	readdress(data, &input.datagram, seed >> 8);
	if (!message) /* more operations than there may be: as long as it is */
		message = input.datagram.available;
	datagram_repair(data, &input.datagram, (uint16_t)message);
	spoil(data, &input.datagram, seed >> 16);
	return size;
}
