/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <string.h>

#include "base/frozen.h"
#include "base/log.h"
#include "base/operator_hint.h"
#include "base/peers.h"
#include "state/peers_key.h"
#include "state/pins.h"

int peers_key_pin(const char *path)
{
	struct peers_key key;
	int err = frozen_draw("a key for the tokens of clients", &key, sizeof(key));

	if (!err)
		err = frozen_pin("the key of clients' tokens", "key", path, &key, sizeof(key));
	explicit_bzero(&key, sizeof(key));
	return err;
}

int peers_key_take(const struct stepwise_protocol *protocol, struct peers_key *key)
{
	char path[PATH_MAX];
	int err;

	if (!protocol->tells_peers)
		return 0;
	err = pins_path(path, "state/key");
	if (err)
		return err;
	err = frozen_read(path, key);
	if (err)
		log_error(
			"cannot read %s, the key of clients' tokens: %s; run serve as root, or unload every interface and run `%s`, which removes the tables' content",
			path, strerror(-err), operator_hint("purge", ""));
	return err;
}
