/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/json_writer.h"
#include "base/log.h"
#include "base/netns.h"
#include "base/operator_hint.h"
#include "cli/report.h"
#include "cli/status.h"
#include "state/pins.h"

static void print_json_interfaces(struct json_writer *json, const struct report *report)
{
	json_array(json, "interfaces");
	json_lines(json);
	for (size_t i = 0; i < report->interface_count; i++) {
		const struct interface *interface = &report->interfaces[i];

		json_object(json, NULL);
		json_string(json, "name", interface->name);
		json_number(json, "ifindex", interface->ifindex);
		json_number(json, "netns", interface->netns);
		json_bool(json, "here", interface->here);
		json_bool(json, "gone", interface->gone);
		json_string(json, "xdp", xdp_mode_name(interface->xdp_mode));
		json_string(json, "tc", tc_mode_name(interface->tc_mode));
		json_bool(json, "looks_ahead", interface->looks_ahead);
		json_end(json);
	}
	json_end(json);
}

static void print_json_programs(struct json_writer *json, const struct report *report)
{
	json_array(json, "programs");
	json_lines(json);
	for (size_t i = 0; i < report->program_count; i++) {
		const struct program_report *program = &report->programs[i];

		json_object(json, NULL);
		json_string(json, "name", program->name);
		json_number(json, "id", program->id);
		json_number(json, "verified_insns", program->verified_insns);
		json_number(json, "translated_bytes", program->translated_bytes);
		json_number(json, "jited_bytes", program->jited_bytes);
		json_end(json);
	}
	json_end(json);
}

static void print_json_tables(struct json_writer *json, const struct report *report)
{
	json_array(json, "tables");
	json_lines(json);
	for (size_t i = 0; i < report->table_count; i++) {
		const struct table_report *found = &report->tables[i];
		const struct stepwise_table *table = found->table;

		json_object(json, NULL);
		json_string(json, "name", table->name);
		json_number(json, "id", found->id);
		json_number(json, "capacity", table->capacity);
		json_number(json, "element_bytes", table->element_size);
		json_number(json, "bytes", (__u64)table->capacity * table->element_size);
		json_string(json, "pin", found->path);
		json_end(json);
	}
	json_end(json);
}

static void print_json_counters(struct json_writer *json, const struct report *report)
{
	if (!report->counters) {
		json_null(json, "counters");
		return;
	}
	json_object(json, "counters");
	json_lines(json);
	for (__u32 i = 0; i < report->protocol->counter_count; i++)
		json_number(json, report->protocol->counters[i], report->counters[i]);
	json_end(json);
}

static void print_json_daemon(struct json_writer *json, const struct report *report)
{
	const __u64 *statistics = (const __u64 *)&report->statistics;

	json_object(json, "daemon");
	json_bool(json, "alive", report->daemon);
	if (report->daemon)
		json_number(json, "pid", report->daemon);
	else
		json_null(json, "pid");
	if (report->daemon && report->daemon_netns)
		json_number(json, "netns", report->daemon_netns);
	json_lines(json);
	for (size_t i = 0; report->daemon_counted && i < DAEMON_STATISTICS_COUNT; i++)
		json_number(json, daemon_statistics_names[i], statistics[i]);
	json_end(json);
}

static void print_json(const struct report *report)
{
	const struct stepwise_protocol *protocol = report->protocol;
	struct json_writer json = { .stream = stdout };
	char layout_id[17];

	snprintf(layout_id, sizeof(layout_id), "%016llx", (unsigned long long)protocol->layout_id);
	json_object(&json, NULL);
	json_lines(&json);
	json_string(&json, "protocol", protocol->name);
	json_number(&json, "port", protocol->port);
	json_bool(&json, "loaded", report->loaded);
	json_bool(&json, "same_build", report->same_build);
	json_string(&json, "layout_id", layout_id);
	json_bool(&json, "drains", protocol->drain);
	json_string(&json, "pins", pins_base());
	print_json_interfaces(&json, report);
	print_json_programs(&json, report);
	print_json_tables(&json, report);
	print_json_counters(&json, report);
	print_json_daemon(&json, report);
	json_end(&json);
}

static void print_text_interfaces(const struct report *report)
{
	char path[PATH_MAX];

	if (!report->interface_count && report->table_count)
		printf("  tables    are kept, with their content, for the next load; `%s` removes them\n",
		       operator_hint("purge", ""));
	for (size_t i = 0; i < report->interface_count; i++) {
		const struct interface *interface = &report->interfaces[i];

		printf("  interface %-15s XDP %s, TC %s%s%s", interface->name,
		       xdp_mode_name(interface->xdp_mode), tc_mode_name(interface->tc_mode),
		       interface->looks_ahead ? ", looks ahead" : "",
		       interface->gone ? ", gone: unload it" : "");
		if (!interface->here && !interface->gone) {
			netns_file(path, interface->netns, 0);
			printf(", in network namespace %lu (%s)", interface->netns, path);
		}
		printf("\n");
	}
}

static void print_text_daemon(const struct report *report)
{
	char path[PATH_MAX];

	if (!report->daemon) {
		printf("  daemon    not running%s\n",
		       report->interface_count && report->protocol->on_forwarded ?
			       ": forwarded requests are refused (ICMP port unreachable, to each client about once a second)" :
			       "");
		return;
	}
	printf("  daemon    running, pid %d", (int)report->daemon);
	if (report->protocol->on_forwarded && report->daemon_netns &&
	    report->daemon_netns != netns_here()) {
		netns_file(path, report->daemon_netns, report->daemon);
		printf(", answers in network namespace %lu (%s) only", report->daemon_netns, path);
	}
	printf("\n");
}

static const char *plural(__u64 count)
{
	return count == 1 ? "" : "s";
}

static bool begins(const char *name, const char *prefix)
{
	return !strncmp(name, prefix, strlen(prefix));
}

/*
 * Every protocol has the counters of every hook. The counters of a hook that it does not have say
 * nothing.
 */
static bool concerns(const struct stepwise_protocol *protocol, const char *counter)
{
	return (protocol->tc_program || !begins(counter, "tc.")) &&
	       (protocol->pass_count || !begins(counter, "sweep."));
}

/* Like concerns(), for the daemon's counters. */
static bool concerns_daemon(const struct stepwise_protocol *protocol, const char *counter)
{
	if (begins(counter, "drain"))
		return protocol->drain != NULL;
	return begins(counter, "sweep") ? protocol->pass_count != 0 :
					  protocol->on_forwarded != NULL;
}

static void print_text_counters(const struct report *report, bool all)
{
	const struct stepwise_protocol *protocol = report->protocol;
	const __u64 *statistics = (const __u64 *)&report->statistics;
	size_t zeros = 0;

	for (__u32 i = 0; report->counters && i < protocol->counter_count; i++) {
		if (!concerns(protocol, protocol->counters[i]))
			continue;
		if (all || report->counters[i])
			printf("  counted   %-31s %llu\n", protocol->counters[i],
			       (unsigned long long)report->counters[i]);
		else
			zeros++;
	}
	for (size_t i = 0; report->daemon_counted && i < DAEMON_STATISTICS_COUNT; i++) {
		if (!concerns_daemon(protocol, daemon_statistics_names[i]))
			continue;
		if (all || statistics[i])
			printf("  by daemon %-31s %llu\n", daemon_statistics_names[i],
			       (unsigned long long)statistics[i]);
		else
			zeros++;
	}
	if (zeros)
		printf("  zero      %zu other counter%s; `%s` lists all\n", zeros, plural(zeros),
		       operator_hint("status", "--all"));
}

static void print_text_table(const struct table_report *table)
{
	__u32 count = table->table->capacity, bytes = table->table->element_size;

	printf("  table     %-15s id %u, %u cell%s of %u byte%s, %.1f MiB, at %s\n",
	       table->table->name, table->id, count, plural(count), bytes, plural(bytes),
	       (double)count * bytes / (1 << 20), table->path);
}

static void print_text(const struct report *report, bool all)
{
	printf("%s, UDP port %u: %s\n", report->protocol->name, report->protocol->port,
	       !report->loaded	       ? "not loaded" :
	       !report->same_build     ? "loaded, but another build of it" :
	       report->interface_count ? "loaded" :
					 "on no interface");
	if (!report->loaded && !report->interface_count && !report->daemon && !report->table_count)
		return;
	print_text_interfaces(report);
	print_text_daemon(report);
	for (size_t i = 0; i < report->program_count; i++)
		printf("  program   %-15s id %u, %u instruction%s verified, %u byte%s of machine code\n",
		       report->programs[i].name, report->programs[i].id,
		       report->programs[i].verified_insns,
		       plural(report->programs[i].verified_insns), report->programs[i].jited_bytes,
		       plural(report->programs[i].jited_bytes));
	for (size_t i = 0; i < report->table_count; i++)
		print_text_table(&report->tables[i]);
	print_text_counters(report, all);
}

static void print_prometheus(const struct report *report)
{
	const __u64 *statistics = (const __u64 *)&report->statistics;
	const char *name = report->protocol->name;

	printf("# HELP stepwise_daemon_up Whether the protocol's daemon is running.\n# TYPE stepwise_daemon_up gauge\n");
	printf("stepwise_daemon_up{protocol=\"%s\"} %d\n", name, report->daemon != 0);
	printf("# HELP stepwise_interfaces Interfaces that the protocol is attached to.\n# TYPE stepwise_interfaces gauge\n");
	printf("stepwise_interfaces{protocol=\"%s\"} %zu\n", name, report->interface_count);
	if (report->counters)
		printf("# HELP stepwise_packets_total How the fast path's runs ended.\n# TYPE stepwise_packets_total counter\n");
	for (__u32 i = 0; report->counters && i < report->protocol->counter_count; i++)
		printf("stepwise_packets_total{protocol=\"%s\",counter=\"%s\"} %llu\n", name,
		       report->protocol->counters[i], (unsigned long long)report->counters[i]);
	for (size_t i = 0; report->daemon_counted && i < DAEMON_STATISTICS_COUNT; i++) {
		const bool is_gauge = i == DAEMON_STATISTICS_GAUGE;

		printf("# TYPE stepwise_daemon_%s%s %s\n", daemon_statistics_names[i],
		       is_gauge ? "" : "_total", is_gauge ? "gauge" : "counter");
		printf("stepwise_daemon_%s%s{protocol=\"%s\"} %llu\n", daemon_statistics_names[i],
		       is_gauge ? "" : "_total", name, (unsigned long long)statistics[i]);
	}
}

int command_status(const struct stepwise_protocol *protocol, const struct status_options *options)
{
	struct report report;
	int err = report_gather(protocol, &report);

	if (!err && options->format == STATUS_JSON)
		print_json(&report);
	else if (!err && options->format == STATUS_PROMETHEUS)
		print_prometheus(&report);
	else if (!err)
		print_text(&report, options->all);
	report_free(&report);
	return err;
}
