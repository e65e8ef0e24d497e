/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The key of clients' tokens: drawn with fresh tables, and from then on read from the pin beside
 * them. */
#ifndef STEPWISE_PEERS_KEY_H
#define STEPWISE_PEERS_KEY_H

#include "base/peers.h"

/* Draws a key and pins it at a path, for good: nobody can write it any more. 0, or negative after a
 * message. */
int peers_key_pin(const char *path);

/* The key beside the tables that are pinned, where the protocol asks for one. Likewise. */
int peers_key_take(const struct stepwise_protocol *protocol, struct peers_key *key);

#endif
