/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <bpf/bpf.h>

#include "log.h"
#include "pins.h"
#include "tables.h"

struct tables {
	const struct stepwise_protocol *protocol;
	const void *memory[];
};

static size_t table_bytes(const struct stepwise_table *table)
{
	return (size_t)table->capacity * table->element_size;
}

static int map_table(const struct stepwise_table *table, const void **memory)
{
	char path[PATH_MAX];
	void *mapped;
	int err, fd;

	err = pins_path(path, "state/tables/%s", table->name);
	if (err)
		return err;
	/*
	 * Not for reading only: of such a descriptor the kernel maps no table. But a
	 * mapping that was made for reading stays so, and the descriptor goes.
	 */
	fd = bpf_obj_get(path);
	if (fd < 0) {
		log_error("cannot open the pinned table %s: %s; run serve as root", path, strerror(-fd));
		return fd;
	}
	mapped = mmap(NULL, table_bytes(table), PROT_READ, MAP_SHARED, fd, 0);
	err = mapped == MAP_FAILED ? -errno : 0;
	close(fd);
	if (err)
		log_error("cannot map table %s (%zu bytes): %s", table->name, table_bytes(table), strerror(-err));
	else
		*memory = mapped;
	return err;
}

struct tables *tables_open(const struct stepwise_protocol *protocol)
{
	struct tables *tables = calloc(1, sizeof(*tables) + protocol->table_count * sizeof(tables->memory[0]));
	int err = 0;

	if (!tables) {
		log_error("cannot open the tables of %s: %s", protocol->name, strerror(ENOMEM));
		return NULL;
	}
	tables->protocol = protocol;
	for (__u32 i = 0; !err && i < protocol->table_count; i++)
		if (protocol->tables[i].read_by_user)
			err = map_table(&protocol->tables[i], &tables->memory[i]);
	if (!err)
		return tables;
	tables_close(tables);
	return NULL;
}

void tables_close(struct tables *tables)
{
	if (!tables)
		return;
	for (__u32 i = 0; i < tables->protocol->table_count; i++)
		if (tables->memory[i])
			munmap((void *)tables->memory[i], table_bytes(&tables->protocol->tables[i]));
	free(tables);
}

const void *const *tables_memory(const struct tables *tables)
{
	return tables->memory;
}
