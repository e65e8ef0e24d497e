/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/log.h"
#include "cli/report.h"
#include "net/look_ahead.h"
#include "state/daemon_claim.h"
#include "state/pins.h"
#include "state/programs.h"

static int gather_program(struct program_report *program, const char *name)
{
	struct bpf_prog_info info = {};
	__u32 size = sizeof(info);
	char path[PATH_MAX];
	int err, fd;

	err = pins_path(path, "build/programs/%s", name);
	if (err)
		return err;
	fd = bpf_obj_get(path);
	err = fd < 0 ? fd : bpf_obj_get_info_by_fd(fd, &info, &size);
	if (fd >= 0)
		close(fd);
	if (err) {
		log_error("cannot read the pinned program %s: %s", path, strerror(-err));
		return err;
	}
	snprintf(program->name, sizeof(program->name), "%s", name);
	program->id = info.id;
	program->verified_insns = info.verified_insns;
	program->translated_bytes = info.xlated_prog_len;
	program->jited_bytes = info.jited_prog_len;
	return 0;
}

static int not_hidden(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static int gather_programs(struct report *report)
{
	struct dirent **entries;
	char path[PATH_MAX];
	int count, err;

	err = pins_path(path, "build/programs");
	if (err)
		return err;
	count = scandir(path, &entries, not_hidden, alphasort);
	if (count < 0) {
		err = errno == ENOENT ? 0 : -errno;
		if (err)
			log_error("cannot read %s: %s; run this as root", path, strerror(-err));
		return err;
	}
	report->loaded = true;
	report->programs = calloc(count + 1, sizeof(*report->programs));
	err = report->programs ? 0 : -ENOMEM;
	for (int i = 0; i < count; i++) {
		if (!err)
			err = gather_program(&report->programs[report->program_count++],
					     entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return err;
}

static int gather_tables(struct report *report)
{
	const struct stepwise_protocol *protocol = report->protocol;

	report->tables = calloc(protocol->table_count + 1, sizeof(*report->tables));
	if (!report->tables)
		return -ENOMEM;
	for (__u32 i = 0; i < protocol->table_count; i++) {
		struct table_report *table = &report->tables[report->table_count];
		struct bpf_map_info info = {};
		__u32 size = sizeof(info);
		int fd, err;

		err = pins_path(table->path, "state/tables/%s", protocol->tables[i].name);
		if (err)
			return err;
		fd = bpf_obj_get(table->path);
		if (fd == -ENOENT)
			continue;
		err = fd < 0 ? fd : bpf_obj_get_info_by_fd(fd, &info, &size);
		if (fd >= 0)
			close(fd);
		if (err) {
			log_error("cannot read the pinned table %s: %s", table->path,
				  strerror(-err));
			return err;
		}
		table->table = &protocol->tables[i];
		table->id = info.id;
		report->table_count++;
	}
	return 0;
}

/* Sums the only element, which has a __u64 for each counter, over all CPUs. */
static int gather_counters(struct report *report)
{
	const struct stepwise_protocol *protocol = report->protocol;
	int cpus = libbpf_num_possible_cpus();
	__u32 key = 0;
	char path[PATH_MAX];
	__u64 *values = NULL;
	int err, fd;

	err = pins_path(path, "build/counters");
	if (err)
		return err;
	if (!report->same_build || cpus < 0)
		return 0;
	fd = bpf_obj_get(path);
	values = calloc((size_t)cpus * protocol->counter_count + 1, sizeof(*values));
	report->counters = calloc(protocol->counter_count + 1, sizeof(*report->counters));
	err = fd < 0			   ? fd :
	      !values || !report->counters ? -ENOMEM :
					     bpf_map_lookup_elem(fd, &key, values);
	for (__u32 i = 0; !err && i < protocol->counter_count * (__u32)cpus; i++)
		report->counters[i % protocol->counter_count] += values[i];
	if (err)
		log_error("cannot read %s: %s", path, strerror(-err));
	if (fd >= 0)
		close(fd);
	free(values);
	return err;
}

static int gather_identity(struct report *report)
{
	char path[PATH_MAX];
	__u64 found;
	int pinned;

	pinned = pins_path(path, "build/identity");
	if (!pinned)
		pinned = pinned_identity(path, build_identity(report->protocol), &found);
	report->same_build = pinned == PINNED_SAME;
	return pinned < 0 ? pinned : 0;
}

static int gather_interfaces(struct report *report)
{
	int err = interfaces_list(&report->interfaces, &report->interface_count);

	for (size_t i = 0; !err && i < report->interface_count; i++)
		report->interfaces[i].looks_ahead =
			report->interfaces[i].here &&
			look_ahead_entered(report->interfaces[i].ifindex);
	return err;
}

int report_gather(const struct stepwise_protocol *protocol, struct report *report)
{
	static int (*const gatherers[])(struct report *report) = {
		gather_interfaces, gather_identity, gather_programs, gather_tables, gather_counters,
	};
	int err = 0, hold;

	memset(report, 0, sizeof(*report));
	report->protocol = protocol;
	report->daemon = daemon_running(protocol, &report->daemon_netns);
	report->daemon_counted = daemon_statistics_read(protocol, &report->statistics) == 0;
	hold = pins_hold(PINS_SHARED);
	if (hold < 0)
		return hold == -ENOENT ? 0 : hold;
	for (size_t i = 0; !err && i < sizeof(gatherers) / sizeof(gatherers[0]); i++)
		err = gatherers[i](report);
	close(hold);
	return err;
}

void report_free(struct report *report)
{
	free(report->interfaces);
	free(report->programs);
	free(report->tables);
	free(report->counters);
}
