/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <bpf/bpf.h>

#include "log.h"
#include "pins.h"
#include "tables.h"

struct tables {
	const struct stepwise_protocol *protocol;
	const void **memory;
	int *copied_fds;  /* of the tables that are copied; -1 for the others */
	__u64 copy_flags;
};

static size_t mapped_bytes(const struct stepwise_table *table)
{
	return (size_t)table->capacity * table->element_size;
}

static int open_table(struct tables *tables, __u32 index)
{
	const struct stepwise_table *table = &tables->protocol->tables[index];
	/*
	 * The kernel maps no table whose cells hold a spin_lock, and no descriptor that
	 * is for reading only; a mapping that was made for reading stays so.
	 */
	DECLARE_LIBBPF_OPTS(bpf_obj_get_opts, options, .file_flags = table->mmapable ? 0 : BPF_F_RDONLY);
	char path[PATH_MAX];
	void *memory;
	int err, fd;

	err = pins_path(path, "state/tables/%s", table->name);
	if (err)
		return err;
	fd = bpf_obj_get_opts(path, &options);
	if (fd < 0) {
		log_error("cannot open the pinned table %s: %s; run serve as root", path, strerror(-fd));
		return fd;
	}
	memory = table->mmapable ? mmap(NULL, mapped_bytes(table), PROT_READ, MAP_SHARED, fd, 0) :
				   malloc(mapped_bytes(table));
	if (memory == MAP_FAILED || !memory) {
		err = -errno;
		log_error("cannot read table %s (%zu bytes): %s", table->name, mapped_bytes(table), strerror(-err));
		close(fd);
		return err;
	}
	tables->memory[index] = memory;
	if (table->mmapable)
		close(fd);
	else
		tables->copied_fds[index] = fd;
	return 0;
}

struct tables *tables_open(const struct stepwise_protocol *protocol)
{
	struct tables *tables = calloc(1, sizeof(*tables));
	int err = -ENOMEM;

	if (!tables)
		goto cleanup;
	tables->protocol = protocol;
	tables->copy_flags = BPF_F_LOCK;
	tables->memory = calloc(protocol->table_count, sizeof(*tables->memory));
	tables->copied_fds = calloc(protocol->table_count, sizeof(*tables->copied_fds));
	if (!tables->memory || !tables->copied_fds)
		goto cleanup;
	err = 0;
	for (__u32 i = 0; i < protocol->table_count; i++)
		tables->copied_fds[i] = -1;
	for (__u32 i = 0; !err && i < protocol->table_count; i++)
		if (protocol->tables[i].read_by_user)
			err = open_table(tables, i);
	if (!err)
		return tables;
cleanup:
	if (err == -ENOMEM)
		log_error("cannot open the tables of %s: %s", protocol->name, strerror(ENOMEM));
	tables_close(tables);
	return NULL;
}

void tables_close(struct tables *tables)
{
	if (!tables)
		return;
	for (__u32 i = 0; tables->memory && tables->copied_fds && i < tables->protocol->table_count; i++) {
		if (!tables->memory[i])
			continue;
		if (tables->copied_fds[i] < 0) {
			munmap((void *)tables->memory[i], mapped_bytes(&tables->protocol->tables[i]));
			continue;
		}
		close(tables->copied_fds[i]);
		free((void *)tables->memory[i]);
	}
	free(tables->memory);
	free(tables->copied_fds);
	free(tables);
}

static int copy_table(int fd, const struct stepwise_table *table, unsigned char *memory, __u64 flags)
{
	DECLARE_LIBBPF_OPTS(bpf_map_batch_opts, options, .elem_flags = flags);
	__u32 keys[256], position;
	__u32 copied = 0;

	while (copied < table->capacity) {
		__u32 count = sizeof(keys) / sizeof(keys[0]);
		int err;

		if (count > table->capacity - copied)
			count = table->capacity - copied;
		err = bpf_map_lookup_batch(fd, copied ? &position : NULL, &position, keys,
					   memory + (size_t)copied * table->element_size, &count, &options);
		/* ENOENT comes with the last of them. */
		if (err && err != -ENOENT)
			return err;
		if (!count)
			return -ENODATA;
		copied += count;
	}
	return 0;
}

int tables_refresh(struct tables *tables)
{
	int err = 0;

	for (__u32 i = 0; !err && i < tables->protocol->table_count; i++) {
		const struct stepwise_table *table = &tables->protocol->tables[i];
		unsigned char *memory = (unsigned char *)tables->memory[i];

		if (tables->copied_fds[i] < 0)
			continue;
		err = copy_table(tables->copied_fds[i], table, memory, tables->copy_flags);
		if (err != -EINVAL || !tables->copy_flags)
			continue;
		/* The kernel reads a cell as a whole under its bpf_spin_lock, but not yet under a bpf_res_spin_lock. */
		tables->copy_flags = 0;
		err = copy_table(tables->copied_fds[i], table, memory, 0);
	}
	return err;
}

const void *const *tables_memory(const struct tables *tables)
{
	return tables->memory;
}
