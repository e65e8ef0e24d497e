/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <string.h>
#include <sodium/crypto_shorthash.h>

#include "base/peers.h"

_Static_assert(PEERS_KEY_BYTES == crypto_shorthash_KEYBYTES,
	       "SipHash-2-4 has a key of that length");
_Static_assert(crypto_shorthash_BYTES == sizeof(__u64), "SipHash-2-4 gives one word");

/* The network part of an IPv6 address. A client that has one address has all of its network. */
#define NETWORK_BYTES 8

/*
 * The input of the hash, without padding. For a network, the last part of the address and the nonce
 * are zero.
 */
struct hashed {
	struct in6_addr address;
	__u64 terms;
	__u32 nonce;
	__u32 what;
};

enum hashed_what {
	OF_NETWORK,
	OF_FIRST_TOKEN,
	OF_SECOND_TOKEN,
};

static __u64 hash(const struct peers_key *key, const struct hashed *hashed)
{
	__u64 value;

	crypto_shorthash((unsigned char *)&value, (const unsigned char *)hashed, sizeof(*hashed),
			 key->bytes);
	return value;
}

static __u64 network(const struct peers_key *key, const struct in6_addr *source)
{
	struct hashed hashed = { .address = *source, .what = OF_NETWORK };

	if (!IN6_IS_ADDR_V4MAPPED(source))
		memset(hashed.address.s6_addr + NETWORK_BYTES, 0,
		       sizeof(hashed.address) - NETWORK_BYTES);
	return hash(key, &hashed);
}

/*
 * Returns the nonce and, in the upper half, the hash that proves who made the token and for whom.
 * Without the key both look random.
 */
static __u64 token(const struct stepwise_protocol *protocol, const struct peers_key *key,
		   enum hashed_what what, const struct in6_addr *source, __u32 nonce)
{
	const struct hashed hashed = {
		.address = *source, .terms = protocol->terms, .nonce = nonce, .what = what
	};

	return (__u64)(__u32)hash(key, &hashed) << 32 | nonce;
}

void peers_tell(const struct stepwise_protocol *protocol, const struct peers_key *key,
		const struct in6_addr *source, __u32 nonce, const unsigned char *payload,
		struct stepwise_environment *environment)
{
	bool first = false;
	__u64 shown;

	if (!protocol->tells_peers)
		return;
	environment->peer = network(key, source);
	if (!protocol->takes_tokens)
		return;
	memcpy(&shown, payload + protocol->token_at, sizeof(shown));
	/*
	 * Anybody can ask for a first token, so a client that shares an address can collect any
	 * number of them. A client that shows one gets a token of the second kind, which is never
	 * among the collected ones.
	 */
	first = shown == token(protocol, key, OF_FIRST_TOKEN, source, (__u32)shown);
	environment->validated =
		first || shown == token(protocol, key, OF_SECOND_TOKEN, source, (__u32)shown);
	environment->token =
		token(protocol, key, first ? OF_SECOND_TOKEN : OF_FIRST_TOKEN, source, nonce);
}
