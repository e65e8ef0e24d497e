/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What is drawn at random with fresh tables and pinned beside them: root alone reads it, and nobody
 * writes it again. */
#ifndef STEPWISE_FROZEN_H
#define STEPWISE_FROZEN_H

#include <stddef.h>

/* `what` is for messages. 0, or negative after one. */
int frozen_draw(const char *what, void *value, size_t bytes);

/* As the only element of a map of that name, pinned at a path. Likewise. */
int frozen_pin(const char *what, const char *map, const char *path, const void *value,
	       size_t bytes);

/* From such a pin; negative without a message. */
int frozen_read(const char *path, void *value);

#endif
