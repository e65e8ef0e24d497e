/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include "datagram.h"

#define ETHERTYPE_IPV4 0x0800u
#define ETHERTYPE_IPV6 0x86ddu
#define PROTOCOL_UDP 17u
#define IPV4_SIZE 20u
#define IPV6_SIZE 40u

uint16_t datagram_read(const unsigned char *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

void datagram_write(unsigned char *at, uint16_t value)
{
	at[0] = (unsigned char)(value >> 8);
	at[1] = (unsigned char)value;
}

static uint32_t add(uint32_t sum, const unsigned char *bytes, size_t size)
{
	for (size_t at = 0; at < size; at++) {
		sum += at & 1 ? bytes[at] : (uint32_t)bytes[at] << 8;
		sum = (sum & 0xffff) + (sum >> 16);
	}
	return sum;
}

static bool find_ipv4(const unsigned char *header, size_t size, struct datagram *found)
{
	if (size < IPV4_SIZE || header[0] >> 4 != 4 || (header[0] & 0xf) * 4 != IPV4_SIZE ||
	    header[9] != PROTOCOL_UDP)
		return false;
	if (header[6] & 0x20 || (header[6] & 0x1f) || header[7])
		return false;
	*found = (struct datagram){
		.version = 4, .address_size = 4, .addresses_at = 12, .udp_at = IPV4_SIZE
	};
	found->is_header_right = add(0, header, IPV4_SIZE) == 0xffff;
	found->network_size = (long)datagram_read(header + 2) - (long)IPV4_SIZE;
	return true;
}

static bool find_ipv6(const unsigned char *header, size_t size, struct datagram *found)
{
	if (size < IPV6_SIZE || header[0] >> 4 != 6 || header[6] != PROTOCOL_UDP)
		return false;
	*found = (struct datagram){ .version = 6,
				    .address_size = 16,
				    .addresses_at = 8,
				    .udp_at = IPV6_SIZE,
				    .is_header_right = true };
	found->network_size = datagram_read(header + 4);
	return true;
}

bool datagram_find(const unsigned char *frame, size_t frame_size, struct datagram *found)
{
	const unsigned char *network = frame + DATAGRAM_ETHERNET_SIZE, *udp;
	bool is_udp = false;

	if (frame_size < DATAGRAM_ETHERNET_SIZE || frame[0] & 1)
		return false;
	if (datagram_read(frame + 12) == ETHERTYPE_IPV4)
		is_udp = find_ipv4(network, frame_size - DATAGRAM_ETHERNET_SIZE, found);
	else if (datagram_read(frame + 12) == ETHERTYPE_IPV6)
		is_udp = find_ipv6(network, frame_size - DATAGRAM_ETHERNET_SIZE, found);
	if (!is_udp)
		return false;
	found->addresses_at += DATAGRAM_ETHERNET_SIZE;
	found->udp_at += DATAGRAM_ETHERNET_SIZE;
	found->available = frame_size - found->udp_at;
	if (found->available < DATAGRAM_UDP_SIZE)
		return false;
	udp = frame + found->udp_at;
	found->source_port = datagram_read(udp);
	found->destination_port = datagram_read(udp + 2);
	found->size = datagram_read(udp + 4);
	found->checksum = datagram_read(udp + 6);
	return true;
}

static uint16_t sum_of(const unsigned char *frame, const struct datagram *found, uint16_t size)
{
	uint32_t sum = PROTOCOL_UDP + (uint32_t)size;

	sum = add(sum, frame + found->addresses_at, 2 * found->address_size);
	sum = add(sum, frame + found->udp_at, size);
	return (uint16_t)((sum & 0xffff) + (sum >> 16));
}

uint16_t datagram_sum(const unsigned char *frame, const struct datagram *found)
{
	return sum_of(frame, found, found->size);
}

void datagram_repair_header(unsigned char *frame, size_t frame_size)
{
	unsigned char *network = frame + DATAGRAM_ETHERNET_SIZE;

	if (frame_size < DATAGRAM_ETHERNET_SIZE + IPV4_SIZE ||
	    datagram_read(frame + 12) != ETHERTYPE_IPV4)
		return;
	datagram_write(network + 10, 0);
	datagram_write(network + 10, (uint16_t)~add(0, network, IPV4_SIZE));
}

void datagram_repair(unsigned char *frame, const struct datagram *found, uint16_t size)
{
	unsigned char *network = frame + DATAGRAM_ETHERNET_SIZE, *udp = frame + found->udp_at;
	uint16_t checksum;

	datagram_write(network + (found->version == 4 ? 2 : 4),
		       (uint16_t)(size + (found->version == 4 ? IPV4_SIZE : 0)));
	datagram_write(udp + 4, size);
	datagram_repair_header(frame, found->udp_at + found->available);
	if (size > found->available)
		return;
	datagram_write(udp + 6, 0);
	checksum = (uint16_t)~sum_of(frame, found, size);
	datagram_write(udp + 6, checksum ? checksum : 0xffff);
}
