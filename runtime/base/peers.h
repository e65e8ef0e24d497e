/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Facts about the sender of a message for the daemon's steps: env.peer, env.token and env.validated
 * (docs/reference/layout.md). All three depend on a key that is drawn for new tables. It stays
 * beside them like their seed, so that tokens outlive a daemon.
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
 * Fills in these facts from the source address of a message (IPv4 as IPv4-mapped) and from its
 * payload, which has at least wire_size bytes. `nonce` is random, and a different one for each
 * message. Does nothing if the protocol uses none of the facts.
 */
void peers_tell(const struct stepwise_protocol *protocol, const struct peers_key *key,
		const struct in6_addr *source, __u32 nonce, const unsigned char *payload,
		struct stepwise_environment *environment);

#endif
