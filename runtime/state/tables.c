/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <bpf/bpf.h>

#include "base/log.h"
#include "state/birth.h"
#include "state/pins.h"
#include "state/seed.h"
#include "state/tables.h"

struct tables {
	struct stepwise_tables interface; /* must be first: the handler passes it back to us */
	const struct stepwise_protocol *protocol;
	tables_observer *observer;
	void *context;
	void **memory;
	int *fds; /* maps that are read by the cell; -1 for the others */
	__u64 born_ns;
};

static size_t table_bytes(const struct stepwise_table *table)
{
	return (size_t)table->capacity * table->element_size;
}

/* Copies a cell. If it has a guard, the kernel holds it during the copy. */
static bool read_map(const struct stepwise_table *table, int fd, __u32 index, void *element)
{
	return bpf_map_lookup_elem_flags(fd, &index, element, table->mmapable ? 0 : BPF_F_LOCK) ==
	       0;
}

static bool read_cell(const struct stepwise_tables *interface, unsigned int table, __u32 index,
		      void *element)
{
	const struct tables *tables = (const struct tables *)interface;
	const struct stepwise_table *read = &tables->protocol->tables[table];

	if (index >= read->capacity)
		return false;
	if (tables->observer)
		tables->observer(tables->context, table, index);
	if (!tables->memory[table])
		return read_map(read, tables->fds[table], index, element);
	/* A word, which one load reads whole. */
	*(__u64 *)element =
		__atomic_load_n((const __u64 *)tables->memory[table] + index, __ATOMIC_RELAXED);
	return true;
}

static void *cell(const struct stepwise_tables *interface, unsigned int table, __u32 index)
{
	const struct tables *tables = (const struct tables *)interface;
	const struct stepwise_table *stepped = &tables->protocol->tables[table];

	if (index >= stepped->capacity || stepped->user_reads != STEPWISE_USER_STEPS)
		return NULL;
	if (tables->observer)
		tables->observer(tables->context, table, index);
	return (unsigned char *)tables->memory[table] + (size_t)index * stepped->element_size;
}

static int open_pin(const struct stepwise_table *table, __u32 file_flags, int *fd)
{
	DECLARE_LIBBPF_OPTS(bpf_obj_get_opts, options, .file_flags = file_flags);
	char path[PATH_MAX];
	int err = pins_path(path, "state/tables/%s", table->name);

	if (err)
		return err;
	*fd = bpf_obj_get_opts(path, &options);
	if (*fd >= 0)
		return 0;
	err = *fd;
	log_error("cannot open the pinned table %s: %s; run serve as root", path, strerror(-err));
	return err;
}

/*
 * Opens the table read-write, because the kernel does not map a read-only descriptor. But a mapping
 * that was made for reading stays read-only, and the descriptor is closed. Only the tables that the
 * daemon itself steps are mapped for writing.
 */
static int map_table(const struct stepwise_table *table, void **memory)
{
	void *mapped;
	int err, fd;

	err = open_pin(table, 0, &fd);
	if (err)
		return err;
	mapped = mmap(NULL, table_bytes(table),
		      table->user_reads == STEPWISE_USER_STEPS ? PROT_READ | PROT_WRITE : PROT_READ,
		      MAP_SHARED, fd, 0);
	err = mapped == MAP_FAILED ? -errno : 0;
	close(fd);
	if (err)
		log_error("cannot map table %s (%zu bytes): %s", table->name, table_bytes(table),
			  strerror(-err));
	else
		*memory = mapped;
	return err;
}

static int open_table(struct tables *tables, __u32 number)
{
	const struct stepwise_table *table = &tables->protocol->tables[number];

	if (table->user_reads == STEPWISE_USER_READS_NOTHING)
		return 0;
	return table->mmapable ? map_table(table, &tables->memory[number]) :
				 open_pin(table, BPF_F_RDONLY, &tables->fds[number]);
}

struct tables *tables_open(const struct stepwise_protocol *protocol, tables_observer *observer,
			   void *context)
{
	struct tables *tables = calloc(1, sizeof(*tables));
	int err = -ENOMEM;

	if (tables) {
		tables->protocol = protocol;
		tables->observer = observer;
		tables->context = context;
		tables->memory = calloc(protocol->table_count, sizeof(*tables->memory));
		tables->fds = malloc(protocol->table_count * sizeof(*tables->fds));
	}
	if (tables && tables->fds)
		memset(tables->fds, -1, protocol->table_count * sizeof(*tables->fds));
	if (!tables || !tables->memory || !tables->fds) {
		log_error("cannot open the tables of %s: %s", protocol->name, strerror(-err));
		goto failed;
	}
	err = seed_take(protocol);
	if (err)
		goto failed;
	tables->interface = (struct stepwise_tables){ .memory = tables->memory,
						      .read_cell = read_cell,
						      .cell = cell };
	if (birth_read(&tables->born_ns))
		goto failed;
	for (__u32 i = 0; i < protocol->table_count; i++) {
		err = open_table(tables, i);
		if (err)
			goto failed;
	}
	return tables;
failed:
	tables_close(tables);
	return NULL;
}

void tables_close(struct tables *tables)
{
	if (!tables)
		return;
	for (__u32 i = 0; i < tables->protocol->table_count; i++) {
		if (tables->memory && tables->memory[i])
			munmap(tables->memory[i], table_bytes(&tables->protocol->tables[i]));
		if (tables->fds && tables->fds[i] >= 0)
			close(tables->fds[i]);
	}
	free(tables->memory);
	free(tables->fds);
	free(tables);
}

const struct stepwise_tables *tables_interface(const struct tables *tables)
{
	return &tables->interface;
}

__u64 tables_age_ns(const struct tables *tables, __u64 now_ns)
{
	return birth_age_ns(tables->born_ns, now_ns);
}

bool tables_may_read(const struct tables *tables)
{
	for (__u32 i = 0; i < tables->protocol->table_count; i++) {
		const struct stepwise_table *table = &tables->protocol->tables[i];
		void *element;
		bool read;

		if (tables->fds[i] < 0)
			continue;
		element = malloc(table->element_size);
		read = element && read_map(table, tables->fds[i], 0, element);
		free(element);
		if (!read)
			return false;
	}
	return true;
}
