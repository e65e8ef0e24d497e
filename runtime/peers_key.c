/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>

#include "hint.h"
#include "log.h"
#include "peers.h"
#include "peers_key.h"
#include "pins.h"

int peers_key_pin(const char *path)
{
	struct peers_key key;
	__u32 index = 0;
	int err, fd;

	err = peers_key_draw(&key);
	if (err)
		return err;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "key", sizeof(index), sizeof(key), 1, NULL);
	err = fd < 0 ? fd : bpf_map_update_elem(fd, &index, &key, BPF_ANY);
	if (!err)
		err = bpf_map_freeze(fd);
	if (!err)
		err = bpf_obj_pin(fd, path);
	if (err)
		log_error("cannot pin the key of clients' tokens at %s: %s", path, strerror(-err));
	if (fd >= 0)
		close(fd);
	explicit_bzero(&key, sizeof(key));
	return err;
}

int peers_key_take(const struct stepwise_protocol *protocol, struct peers_key *key)
{
	char path[PATH_MAX];
	__u32 index = 0;
	int err, fd;

	if (!protocol->tells_peers)
		return 0;
	err = pins_path(path, "state/key");
	if (err)
		return err;
	fd = bpf_obj_get(path);
	err = fd < 0 ? fd : bpf_map_lookup_elem(fd, &index, key);
	if (fd >= 0)
		close(fd);
	if (err)
		log_error("cannot read %s, the key of clients' tokens: %s; run serve as root, or unload every interface and run `%s`, which "
			  "forgets what the tables hold", path, strerror(-err), hint("purge", ""));
	return err;
}
