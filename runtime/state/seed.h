/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The seed of the tables' hashes: drawn with fresh tables, and from then on read from the pin
 * beside them. */
#ifndef STEPWISE_SEED_OF_TABLES_H
#define STEPWISE_SEED_OF_TABLES_H

#include "stepwise.h"

/* Reads 48 hexadecimal digits, 16 for each word. False after a message. */
bool seed_parse(const char *text, struct stepwise_seed *seed);

/*
 * The seed to load programs with: that of the tables if they are reused, else the one that is
 * given, or where that is NULL a random one. Negative after a message, as where the tables have
 * another one than is given.
 */
int seed_choose(const struct stepwise_protocol *protocol, bool reuse,
		const struct stepwise_seed *given, struct stepwise_seed *seed);

/* Pins it at a path, for good: nobody can write it any more. */
int seed_pin(const char *path, const struct stepwise_seed *seed);

/* Gives the protocol's steps in userspace the seed of the tables that are pinned. Comes before any
 * of them runs. */
int seed_take(const struct stepwise_protocol *protocol);

#endif
