/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* CRC-32C (Castagnoli), as iSCSI and ext4 have it. */
#ifndef STEPWISE_CRC32C_H
#define STEPWISE_CRC32C_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

/* Of `size` more bytes after what `before` is the checksum of; 0 for nothing before. By the
 * processor's instruction where it has one. */
__u32 crc32c(__u32 before, const void *data, size_t size);

/* The two ways that there are, to compare them. The second is only for a processor of which
 * crc32c_in_hardware() is true. */
__u32 crc32c_by_table(__u32 before, const void *data, size_t size);
__u32 crc32c_by_instruction(__u32 before, const void *data, size_t size);
bool crc32c_in_hardware(void);

#endif
