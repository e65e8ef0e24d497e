/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>

#include "base/log.h"
#include "base/netns.h"
#include "net/interfaces.h"
#include "state/pins.h"

const char *xdp_mode_name(enum xdp_mode mode)
{
	return mode == XDP_MODE_NATIVE ? "native" : "generic";
}

const char *tc_mode_name(enum tc_mode mode)
{
	return mode == TC_MODE_NONE ? "none" : mode == TC_MODE_TCX ? "tcx" : "clsact";
}

/*
 * The key is <namespace>_<index>_<name>. The namespace is needed because several may share a BPF
 * file system. The name is for people. The BPF file system does not allow dots, which names of VLAN
 * interfaces have.
 */
int interface_path(char path[PATH_MAX], unsigned long netns, unsigned int ifindex, const char *name)
{
	char escaped[3 * IF_NAMESIZE + 1];
	size_t length = 0;

	for (; *name && length + 4 < sizeof(escaped); name++) {
		if (*name == '.' || *name == '%')
			length += sprintf(escaped + length, "%%%02x", (unsigned char)*name);
		else
			escaped[length++] = *name;
	}
	escaped[length] = '\0';
	return pins_path(path, "interfaces/%lu_%u_%s", netns, ifindex, escaped);
}

static bool parse_key(const char *key, unsigned long *netns, unsigned int *ifindex,
		      char name[IF_NAMESIZE])
{
	size_t length = 0;
	int start = 0;

	if (sscanf(key, "%lu_%u_%n", netns, ifindex, &start) != 2 || !start)
		return false;
	for (key += start; *key && length + 1 < IF_NAMESIZE; key++) {
		unsigned int character = (unsigned char)*key;

		if (character == '%' && sscanf(key + 1, "%2x", &character) == 1)
			key += 2;
		name[length++] = (char)character;
	}
	name[length] = '\0';
	return true;
}

/* True if the interface still exists. The link of a deleted interface has no device. */
static bool xdp_link_has_device(const char *path)
{
	struct bpf_link_info info = {};
	__u32 size = sizeof(info);
	int fd = bpf_obj_get(path);
	bool alive;

	if (fd < 0)
		return false;
	alive = bpf_obj_get_info_by_fd(fd, &info, &size) == 0 && info.xdp.ifindex != 0;
	close(fd);
	return alive;
}

static void read_attachment(struct interface *interface, const char *pin)
{
	char path[PATH_MAX];

	if (!strcmp(pin, "xdp_native") || !strcmp(pin, "xdp_generic")) {
		interface->xdp_mode = !strcmp(pin, "xdp_native") ? XDP_MODE_NATIVE :
								   XDP_MODE_GENERIC;
		if (snprintf(path, sizeof(path), "%s/%s", interface->path, pin) < PATH_MAX)
			interface->gone = !xdp_link_has_device(path);
	} else if (!strcmp(pin, "tcx")) {
		interface->tc_mode = TC_MODE_TCX;
	} else if (!strcmp(pin, "clsact")) {
		interface->tc_mode = TC_MODE_CLSACT;
	}
}

static int read_interface(struct interface *interface, const char *key, unsigned long netns)
{
	char name[IF_NAMESIZE];
	struct dirent *entry;
	DIR *directory;
	int err;

	memset(interface, 0, sizeof(*interface));
	interface->gone = true;
	if (!parse_key(key, &interface->netns, &interface->ifindex, interface->name))
		return -EINVAL;
	err = pins_path(interface->path, "interfaces/%s", key);
	if (err)
		return err;
	directory = opendir(interface->path);
	if (!directory)
		return -errno;
	while ((entry = readdir(directory)))
		read_attachment(interface, entry->d_name);
	closedir(directory);

	interface->here = interface->netns == netns && !interface->gone;
	if (interface->here && if_indextoname(interface->ifindex, name))
		strcpy(interface->name, name);
	return 0;
}

static int not_hidden(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

int interfaces_list(struct interface **list, size_t *count)
{
	unsigned long netns = netns_here();
	struct dirent **entries;
	char path[PATH_MAX];
	int entry_count, err;

	*list = NULL;
	*count = 0;
	if (!netns)
		return -ENOENT;
	err = pins_path(path, "interfaces");
	if (err)
		return err;
	entry_count = scandir(path, &entries, not_hidden, alphasort);
	if (entry_count < 0) {
		err = errno == ENOENT ? 0 : -errno;
		if (err)
			log_error("cannot read %s: %s; run this as root", path, strerror(-err));
		return err;
	}
	*list = calloc(entry_count + 1, sizeof(**list));
	if (!*list)
		err = -ENOMEM;
	for (int i = 0; i < entry_count; i++) {
		if (!err && read_interface(*list + *count, entries[i]->d_name, netns) == 0)
			++*count;
		free(entries[i]);
	}
	free(entries);
	return err;
}

int interfaces_elsewhere(struct interface *elsewhere)
{
	struct interface *list;
	size_t count;
	int err, found = 0;

	err = interfaces_list(&list, &count);
	for (size_t i = 0; !err && i < count && !found; i++) {
		found = !list[i].here && !list[i].gone;
		*elsewhere = list[i];
	}
	free(list);
	return err ? err : found;
}

size_t interfaces_read_indices(int directory_fd, unsigned long netns, unsigned int *indices,
			       size_t indices_max)
{
	struct dirent *entry;
	size_t count = 0;
	DIR *directory;
	int fd;

	/* Use a duplicate, because closedir() closes it. They share the position. */
	fd = dup(directory_fd);
	directory = fd < 0 ? NULL : fdopendir(fd);
	if (!directory) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	rewinddir(directory);
	while (count < indices_max && (entry = readdir(directory))) {
		unsigned long entry_netns;
		char name[IF_NAMESIZE];
		unsigned int ifindex;

		if (parse_key(entry->d_name, &entry_netns, &ifindex, name) && entry_netns == netns)
			indices[count++] = ifindex;
	}
	closedir(directory);
	return count;
}
