/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* CRC-32C (Castagnoli), as in iSCSI and ext4. */
#ifndef STEPWISE_CRC32C_H
#define STEPWISE_CRC32C_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

/*
 * Continues the checksum `before` with `size` more bytes. `before` is 0 at the start. Uses the
 * processor's instruction if there is one.
 */
__u32 crc32c(__u32 before, const void *data, size_t size);

/*
 * The two implementations, so that they can be compared. The second one requires a processor for
 * which crc32c_in_hardware() is true.
 */
__u32 crc32c_by_table(__u32 before, const void *data, size_t size);
__u32 crc32c_by_instruction(__u32 before, const void *data, size_t size);
bool crc32c_in_hardware(void);

#endif
