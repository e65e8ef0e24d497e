/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/netns.h"
#include "base/operator_hint.h"
#include "base/privileges.h"
#include "load/loader.h"
#include "net/addresses.h"
#include "net/look_ahead.h"
#include "net/veth.h"
#include "state/birth.h"
#include "state/daemon_claim.h"
#include "state/daemon_rounds.h"
#include "state/pins.h"
#include "state/programs.h"
#include "state/run_state.h"
#include "state/seed.h"

/*
 * Cleans up after a load that failed or was killed: detaches what it attached, and removes its
 * pins.
 */
static int remove_staging(void)
{
	char path[PATH_MAX];
	int err = pins_path(path, "staging/interface");

	if (err)
		return err;
	detach_xdp_link(path);
	detach_tcx_link(path);
	err = pins_path(path, "staging");
	return err ? err : pins_remove(path);
}

/*
 * Removes what a failed first load created. Keeps interfaces/ of a loaded protocol, because the
 * daemon has it open.
 */
static void remove_empty_base(void)
{
	char path[PATH_MAX];

	if (pins_path(path, "build") || pins_exist(path))
		return;
	if (!pins_path(path, "interfaces"))
		rmdir(path);
	rmdir(pins_base());
}

/* Finds an interface that programs of any build are attached to. Returns false if there is none. */
static bool any_attached(struct interface *attached)
{
	struct interface *list;
	size_t count;
	bool found = false;

	if (interfaces_list(&list, &count))
		count = 0;
	for (size_t i = 0; i < count && !found; i++) {
		found = !list[i].gone;
		*attached = list[i];
	}
	free(list);
	return found;
}

/*
 * Refuses an interface that has the protocol. Removes the pins of a deleted interface with the same
 * index.
 */
static int check_not_loaded(const struct stepwise_protocol *protocol,
			    const struct interface *interface)
{
	struct interface *list;
	size_t count;
	int err = interfaces_list(&list, &count);

	for (size_t i = 0; !err && i < count; i++) {
		if (list[i].gone) {
			err = pins_remove(list[i].path);
		} else if (list[i].here && list[i].ifindex == interface->ifindex) {
			log_error("%s is already loaded on %s; run `%s` first", protocol->name,
				  interface->name, operator_hint("unload", interface->name));
			err = -EEXIST;
		}
	}
	free(list);
	return err;
}

/*
 * A protocol serves one network namespace at a time. The daemon receives datagrams of its own
 * namespace only, so forwarded requests in any other would never be answered. Two daemons would
 * both sweep the same tables. And the programs know the addresses of one namespace, which may
 * belong to another host in another.
 */
static int check_namespace(const struct stepwise_protocol *protocol,
			   const struct interface *interface)
{
	char path[PATH_MAX];
	unsigned long netns;
	pid_t daemon = daemon_running(protocol, &netns);
	struct interface other;
	int elsewhere;

	if (!serves_one_namespace(protocol))
		return 0;
	if (daemon && netns && netns != interface->netns) {
		netns_file(path, netns, daemon);
		log_error(
			"cannot load %s on %s: its daemon (pid %d) answers only in network namespace %lu (%s); stop it, or load there, or give this namespace its own tables and daemon with STEPWISE_BPFFS and STEPWISE_RUN",
			protocol->name, interface->name, (int)daemon, netns, path);
		return -EBUSY;
	}
	elsewhere = interfaces_elsewhere(&other);
	if (elsewhere <= 0)
		return elsewhere;
	netns_file(path, other.netns, 0);
	log_error(
		"cannot load %s on %s: it is loaded on %s of network namespace %lu (%s), and serves only one at a time; unload it there, or give this namespace its own tables and daemon with STEPWISE_BPFFS and STEPWISE_RUN",
		protocol->name, interface->name, other.name, other.netns, path);
	return -EBUSY;
}

/*
 * Two builds must not work on the same tables, because the model knows one set of steps at a time.
 */
static int check_no_other_build(const struct stepwise_protocol *protocol)
{
	pid_t daemon = daemon_running(protocol, NULL);
	struct interface attached;

	if (any_attached(&attached)) {
		log_error(
			"another build of %s is loaded on %s (network namespace %lu); unload it first: two builds must not work on the same tables",
			protocol->name, attached.name, attached.netns);
		return -EBUSY;
	}
	if (daemon) {
		log_error(
			"a daemon of another build of %s is running (pid %d); stop it first: two builds must not work on the same tables",
			protocol->name, (int)daemon);
		return -EBUSY;
	}
	return 0;
}

static int obtain_programs(const struct stepwise_protocol *protocol,
			   const struct fresh_tables *fresh, struct loaded_programs *programs)
{
	struct stepwise_seed seed = {};
	char path[PATH_MAX];
	__u64 found;
	int pinned, reuse, err;

	err = pins_path(path, "build/identity");
	if (err)
		return err;
	pinned = pinned_identity(path, build_identity(protocol), &found);
	if (pinned < 0)
		return pinned;
	if (pinned == PINNED_SAME)
		return seed_choose(protocol, true, fresh->seed, &seed) ?:
			       programs_from_pins(protocol, programs);
	reuse = check_pinned_layout(protocol);
	if (reuse < 0)
		return reuse;
	if (pinned == PINNED_OTHER) {
		err = check_no_other_build(protocol);
		if (err)
			return err;
	}
	err = seed_choose(protocol, reuse, fresh->seed, &seed);
	return err ? err : programs_load(protocol, reuse, &seed, fresh->first, programs);
}

static int make_directory(char path[PATH_MAX], const char *name)
{
	return pins_path(path, "%s", name) ?: pins_make_directory(path);
}

static int move(const char *from, const char *to)
{
	int err = rename(from, to) ? -errno : 0;

	if (err)
		log_error("cannot move %s to %s: %s", from, to, strerror(-err));
	return err;
}

/* Moves staging/<name> to <name>, replacing what was there. Does nothing if it was not staged. */
static int commit(const char *name)
{
	char from[PATH_MAX], to[PATH_MAX];
	int err = pins_path(from, "staging/%s", name) ?: pins_path(to, "%s", name);

	if (err || !pins_exist(from))
		return err;
	err = pins_remove(to);
	return err ? err : move(from, to);
}

static int commit_interface(const struct interface *interface)
{
	char from[PATH_MAX], to[PATH_MAX];
	int err = make_directory(to, "interfaces") ?: pins_path(from, "staging/interface");

	if (!err)
		err = interface_path(to, interface->netns, interface->ifindex, interface->name);
	return err ? err : move(from, to);
}

static int find_interface(const char *name, struct interface *interface)
{
	memset(interface, 0, sizeof(*interface));
	interface->here = true;
	interface->ifindex = if_nametoindex(name);
	if (!interface->ifindex) {
		log_error(
			"cannot load on %s: there is no such interface in this network namespace; `ip link` lists them",
			name);
		return -ENODEV;
	}
	snprintf(interface->name, sizeof(interface->name), "%s", name);
	interface->netns = netns_here();
	return interface->netns ? 0 : -ENOENT;
}

/*
 * Loads while the pins are held: makes everything in staging/, and moves it into place at the end.
 */
static int load_held(const struct stepwise_protocol *protocol, struct interface *interface,
		     const struct load_options *options)
{
	struct loaded_programs programs = { .xdp_fd = -1, .tc_fd = -1 };
	char staging[PATH_MAX];
	int err;

	err = remove_staging();
	if (err)
		goto cleanup;
	err = check_not_loaded(protocol, interface) ?: check_namespace(protocol, interface);
	if (err)
		goto cleanup;
	err = make_directory(staging, "staging") ?: make_directory(staging, "staging/interface");
	if (err)
		goto cleanup;
	err = obtain_programs(protocol, &options->fresh, &programs) ?: addresses_enter(protocol);
	if (err)
		goto cleanup;
	err = attach_programs(protocol, interface, programs.xdp_fd, programs.tc_fd,
			      &options->attach, staging);
	if (err)
		goto cleanup;
	err = commit("state") ?: commit("build") ?: commit_interface(interface);
	if (err)
		detach_filter(protocol, interface);
cleanup:
	programs_close(&programs);
	remove_staging();
	return err;
}

int command_load(const struct stepwise_protocol *protocol, const char *interface_name,
		 const struct load_options *options)
{
	struct interface interface;
	char doing[128];
	int err, hold;

	snprintf(doing, sizeof(doing), "load %s on %s", protocol->name, interface_name);
	err = privileges_check(doing);
	if (!err)
		err = find_interface(interface_name, &interface);
	if (!err)
		err = pins_make_base();
	if (err)
		return err;
	hold = pins_hold(PINS_EXCLUSIVE);
	if (hold < 0)
		return hold;
	err = load_held(protocol, &interface, options);
	if (err) {
		remove_empty_base();
	} else {
		log_info("loaded on %s: XDP %s, TC %s", interface.name,
			 xdp_mode_name(interface.xdp_mode), tc_mode_name(interface.tc_mode));
		birth_tell(protocol);
		veth_check_peer(&interface);
	}
	close(hold);
	return err;
}

static int check_serves_nobody(const struct stepwise_protocol *protocol)
{
	pid_t daemon = daemon_running(protocol, NULL);
	struct interface attached;

	if (any_attached(&attached)) {
		log_error(
			"%s is loaded on %s (network namespace %lu) and may serve; unload it first",
			protocol->name, attached.name, attached.netns);
		return -EBUSY;
	}
	if (daemon) {
		log_error("the daemon of %s is running (pid %d) and may serve; stop it first",
			  protocol->name, (int)daemon);
		return -EBUSY;
	}
	return 0;
}

static int load_tables_held(const struct stepwise_protocol *protocol, bool first)
{
	const struct fresh_tables fresh = { .first = first };
	struct loaded_programs programs = { .xdp_fd = -1, .tc_fd = -1 };
	char staging[PATH_MAX];
	int err;

	err = remove_staging() ?: check_serves_nobody(protocol);
	if (err)
		goto cleanup;
	err = make_directory(staging, "staging");
	if (err)
		goto cleanup;
	err = obtain_programs(protocol, &fresh, &programs) ?: commit("state") ?: commit("build");
cleanup:
	programs_close(&programs);
	remove_staging();
	return err;
}

int load_tables(const struct stepwise_protocol *protocol, bool first)
{
	int hold, err;

	err = pins_make_base();
	if (err)
		return err;
	hold = pins_hold(PINS_EXCLUSIVE);
	if (hold < 0)
		return hold;
	err = load_tables_held(protocol, first);
	if (!err)
		return hold;
	remove_empty_base();
	close(hold);
	return err;
}

static void explain_not_loaded(const struct stepwise_protocol *protocol, const char *name,
			       const struct interface *elsewhere)
{
	char path[PATH_MAX];

	if (!elsewhere) {
		log_error("%s is not loaded on %s; `%s` shows where it is", protocol->name, name,
			  operator_hint("status", ""));
		return;
	}
	netns_file(path, elsewhere->netns, 0);
	log_error(
		"%s is not loaded on %s of this network namespace, but in another one (%lu); unload it there: `nsenter --net=%s %s`",
		protocol->name, name, elsewhere->netns, path, operator_hint("unload", name));
}

/* Finds the interface in this network namespace, or a deleted one that had that name. */
static int find_loaded(const struct stepwise_protocol *protocol, const char *name,
		       struct interface *found)
{
	const struct interface *elsewhere = NULL, *match = NULL;
	struct interface *list;
	size_t count;
	int err;

	err = interfaces_list(&list, &count);
	for (size_t i = 0; !err && i < count; i++) {
		if (strcmp(list[i].name, name))
			continue;
		if (list[i].here || (list[i].gone && !match))
			match = &list[i];
		else
			elsewhere = &list[i];
	}
	if (match)
		*found = *match;
	else if (!err)
		explain_not_loaded(protocol, name, elsewhere);
	if (!err && !match)
		err = -ENOENT;
	free(list);
	return err;
}

/*
 * Removes the interface from the list that the daemon checks before each batch, and waits for the
 * current batch.
 */
static int withdraw(const struct stepwise_protocol *protocol, const struct interface *interface)
{
	char staging[PATH_MAX];
	int err = make_directory(staging, "staging") ?: pins_path(staging, "staging/interface");

	if (!err)
		err = move(interface->path, staging);
	if (err)
		return err;
	err = daemon_rounds_await(protocol);
	/* TC stays attached, so the interface must stay findable. */
	if (err)
		move(staging, interface->path);
	return err;
}

static int unload_held(const struct stepwise_protocol *protocol, const char *name)
{
	struct interface interface;
	int err = remove_staging() ?: find_loaded(protocol, name, &interface);

	if (err)
		return err;
	/*
	 * Detach XDP first, so that nothing more reaches the daemon. Detach TC after the daemon has
	 * sent its pending replies, so that no reply leaves without completion.
	 */
	detach_xdp_link(interface.path);
	if (!interface.gone)
		look_ahead_leave(interface.ifindex);
	err = withdraw(protocol, &interface) ?: detach_filter(protocol, &interface);
	if (err)
		return err;
	err = remove_staging();
	if (!err)
		log_info("unloaded from %s%s", name,
			 interface.gone ? ", which no longer exists" : "");
	return err;
}

static int purge_held(const struct stepwise_protocol *protocol)
{
	pid_t daemon = daemon_running(protocol, NULL);
	struct interface attached;
	int err;

	if (any_attached(&attached)) {
		log_error(
			"cannot purge %s: it is loaded on %s (network namespace %lu); unload it first",
			protocol->name, attached.name, attached.netns);
		return -EBUSY;
	}
	if (daemon) {
		log_error("cannot purge %s: its daemon is running (pid %d); stop it first",
			  protocol->name, (int)daemon);
		return -EBUSY;
	}
	err = pins_remove(pins_base());
	if (!err && run_state_remove(protocol) < 0)
		err = -EIO;
	if (!err)
		log_info("removed the tables of %s and their content", protocol->name);
	return err;
}

int command_unload(const struct stepwise_protocol *protocol, const char *interface_name, bool purge)
{
	struct interface attached;
	char doing[128];
	int err, hold;

	snprintf(doing, sizeof(doing), "unload %s from %s", protocol->name, interface_name);
	err = privileges_check(doing);
	if (err)
		return err;
	hold = pins_hold(PINS_EXCLUSIVE);
	if (hold < 0) {
		if (hold == -ENOENT)
			log_error("%s is not loaded on %s, nor on any other interface",
				  protocol->name, interface_name);
		return hold;
	}
	err = unload_held(protocol, interface_name);
	if (!err && purge)
		err = purge_held(protocol);
	else if (!err && !any_attached(&attached))
		log_info(
			"the tables of %s stay, with their content, for the next load; `%s` removes them",
			protocol->name, operator_hint("purge", ""));
	close(hold);
	return err;
}

/* There are no tables, but there may be files of a daemon that has ended. */
static int purge_files(const struct stepwise_protocol *protocol)
{
	int removed = daemon_running(protocol, NULL) ? 0 : run_state_remove(protocol);

	if (removed > 0)
		log_info(
			"removed the files that the daemon of %s had left in %s; there were no tables",
			protocol->name, run_directory());
	else if (!removed)
		log_error("cannot purge %s: it has nothing in %s", protocol->name, pins_base());
	return removed > 0 ? 0 : -ENOENT;
}

int command_purge(const struct stepwise_protocol *protocol)
{
	char doing[128];
	int err, hold;

	snprintf(doing, sizeof(doing), "purge %s", protocol->name);
	err = privileges_check(doing);
	if (err)
		return err;
	hold = pins_hold(PINS_EXCLUSIVE);
	if (hold < 0)
		return hold == -ENOENT ? purge_files(protocol) : hold;
	err = purge_held(protocol);
	close(hold);
	return err;
}
