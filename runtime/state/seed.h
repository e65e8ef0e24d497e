/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The seed of the tables' hashes. It is drawn for new tables, and then read from the pin beside
 * them.
 */
#ifndef STEPWISE_SEED_OF_TABLES_H
#define STEPWISE_SEED_OF_TABLES_H

#include "stepwise.h"

/* Reads 48 hexadecimal digits, 16 for each word. Returns false after a message. */
bool seed_parse(const char *text, struct stepwise_seed *seed);

/*
 * Chooses the seed for loading programs: that of the tables if they are reused, else the given one,
 * or a random one if that is NULL. Returns a negative errno after a message, also if reused tables
 * have another seed than the given one.
 */
int seed_choose(const struct stepwise_protocol *protocol, bool reuse,
		const struct stepwise_seed *given, struct stepwise_seed *seed);

/* Pins the seed at a path. Nobody can change it afterwards. */
int seed_pin(const char *path, const struct stepwise_seed *seed);

/*
 * Gives the protocol's steps in userspace the seed of the pinned tables. Call it before any step
 * runs.
 */
int seed_take(const struct stepwise_protocol *protocol);

#endif
