/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The key for clients' tokens. It is drawn for new tables, and then read from the pin beside them.
 */
#ifndef STEPWISE_PEERS_KEY_H
#define STEPWISE_PEERS_KEY_H

#include "base/peers.h"

/*
 * Draws a key and pins it at a path. Nobody can change it afterwards. Returns 0, or a negative
 * errno after a message.
 */
int peers_key_pin(const char *path);

/*
 * Reads the key of the pinned tables if the protocol uses one. Returns 0, or a negative errno after
 * a message.
 */
int peers_key_take(const struct stepwise_protocol *protocol, struct peers_key *key);

#endif
