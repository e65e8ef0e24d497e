/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <sys/random.h>
#include <bpf/bpf.h>

#include "base/frozen.h"
#include "base/log.h"

int frozen_draw(const char *what, void *value, size_t bytes)
{
	int err;

	if (getrandom(value, bytes, 0) == (ssize_t)bytes)
		return 0;
	err = errno ? -errno : -EIO;
	log_error("cannot draw %s: getrandom: %s", what, strerror(-err));
	return err;
}

int frozen_pin(const char *what, const char *map, const char *path, const void *value, size_t bytes)
{
	const __u32 key = 0;
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, map, sizeof(key), bytes, 1, NULL);
	int err = fd < 0 ? fd : bpf_map_update_elem(fd, &key, value, BPF_ANY);

	if (!err)
		err = bpf_map_freeze(fd);
	if (!err)
		err = bpf_obj_pin(fd, path);
	if (err)
		log_error("cannot pin %s at %s: %s", what, path, strerror(-err));
	if (fd >= 0)
		close(fd);
	return err;
}

int frozen_read(const char *path, void *value)
{
	const __u32 key = 0;
	int fd = bpf_obj_get(path);
	int err = fd < 0 ? fd : bpf_map_lookup_elem(fd, &key, value);

	if (fd >= 0)
		close(fd);
	return err;
}
