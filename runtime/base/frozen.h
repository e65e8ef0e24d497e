/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Values that are drawn at random for new tables and pinned beside them. Only root can read them,
 * and nobody can change them.
 */
#ifndef STEPWISE_FROZEN_H
#define STEPWISE_FROZEN_H

#include <stddef.h>

/* Draws a value. `what` names it in messages. Returns 0, or a negative errno after a message. */
int frozen_draw(const char *what, void *value, size_t bytes);

/*
 * Pins a value at `path`, as the only element of a map named `map`. Returns 0, or a negative errno
 * after a message.
 */
int frozen_pin(const char *what, const char *map, const char *path, const void *value,
	       size_t bytes);

/* Reads a value from its pin. Returns a negative errno without a message. */
int frozen_read(const char *path, void *value);

#endif
