/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What the daemon's steps are told of who sent a message: env.peer, env.token and env.validated
 * (docs/layout.md). All three come from a key that is drawn with fresh tables, and stays beside
 * them like their seed, so that tokens outlive a daemon.
 */
#ifndef STEPWISE_PEERS_H
#define STEPWISE_PEERS_H

#include <netinet/in.h>

#include "stepwise.h"

#define PEERS_KEY_BYTES 16

struct peers_key {
	unsigned char bytes[PEERS_KEY_BYTES];
};

/*
 * Fills in what the steps are told, from the source address of a message (IPv4 as IPv4-mapped) and
 * from its payload, of at least wire_size bytes. `nonce` is random, and another for each message.
 * Does nothing where the protocol asks for none of it.
 */
void peers_tell(const struct stepwise_protocol *protocol, const struct peers_key *key,
		const struct in6_addr *source, __u32 nonce, const unsigned char *payload,
		struct stepwise_environment *environment);

#endif
