/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <endian.h>
#include <string.h>

#include "base/crc32c.h"

#define POLYNOMIAL 0x82f63b78u /* bits reversed */
#define SLICES 8

/* slices[n][b]: how the byte b changes the checksum if n bytes follow it. */
static __u32 slices[SLICES][256];
static __u32 (*chosen)(__u32 before, const void *data, size_t size) = crc32c_by_table;

__u32 crc32c_by_table(__u32 before, const void *data, size_t size)
{
	const unsigned char *byte = data;
	__u32 sum = ~before;

	for (; size >= SLICES; size -= SLICES, byte += SLICES) {
		__u64 word;

		memcpy(&word, byte, sizeof(word));
		word = le64toh(word) ^ sum;
		sum = 0;
		for (unsigned int i = 0; i < SLICES; i++)
			sum ^= slices[SLICES - 1 - i][word >> 8 * i & 0xff];
	}
	for (; size; size--, byte++)
		sum = sum >> 8 ^ slices[0][(sum ^ *byte) & 0xff];
	return ~sum;
}

#ifdef __x86_64__
bool crc32c_in_hardware(void)
{
	return __builtin_cpu_supports("sse4.2");
}

__attribute__((target("sse4.2"))) __u32 crc32c_by_instruction(__u32 before, const void *data,
							      size_t size)
{
	const unsigned char *byte = data;
	__u64 sum = ~before;

	for (; size >= sizeof(__u64); size -= sizeof(__u64), byte += sizeof(__u64)) {
		unsigned long long word;

		memcpy(&word, byte, sizeof(word));
		sum = __builtin_ia32_crc32di(sum, word);
	}
	for (; size; size--, byte++)
		sum = __builtin_ia32_crc32qi((__u32)sum, *byte);
	return ~(__u32)sum;
}
#else
bool crc32c_in_hardware(void)
{
	return false;
}

__u32 crc32c_by_instruction(__u32 before, const void *data, size_t size)
{
	return crc32c_by_table(before, data, size);
}
#endif

/* Runs before main(), so that no thread finds it half done. */
__attribute__((constructor)) static void choose(void)
{
	for (unsigned int byte = 0; byte < 256; byte++) {
		__u32 sum = byte;

		for (unsigned int bit = 0; bit < 8; bit++)
			sum = sum >> 1 ^ (sum & 1 ? POLYNOMIAL : 0);
		slices[0][byte] = sum;
	}
	for (unsigned int slice = 1; slice < SLICES; slice++)
		for (unsigned int byte = 0; byte < 256; byte++)
			slices[slice][byte] = slices[slice - 1][byte] >> 8 ^
					      slices[0][slices[slice - 1][byte] & 0xff];
#ifdef __x86_64__
	__builtin_cpu_init();
#endif
	if (crc32c_in_hardware())
		chosen = crc32c_by_instruction;
}

__u32 crc32c(__u32 before, const void *data, size_t size)
{
	return chosen(before, data, size);
}
