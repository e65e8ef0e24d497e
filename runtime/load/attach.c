/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <sys/syscall.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/log.h"
#include "base/operator_hint.h"
#include "load/attach.h"
#include "state/pins.h"

/* In enum bpf_attach_type since kernel 6.6. The headers of Debian 12 are from 6.1. */
#define ATTACH_TYPE_TCX_EGRESS 47

#define FILTER_HANDLE 1

static int pin_in(const char *directory, const char *name, int fd)
{
	char path[PATH_MAX];
	int err;

	if (snprintf(path, sizeof(path), "%s/%s", directory, name) >= PATH_MAX)
		return -ENAMETOOLONG;
	err = bpf_obj_pin(fd, path);
	if (err)
		log_error("cannot pin %s: %s", path, strerror(-err));
	return err;
}

static void detach_link(const char *directory, const char *name)
{
	char path[PATH_MAX];
	int fd;

	if (snprintf(path, sizeof(path), "%s/%s", directory, name) >= PATH_MAX)
		return;
	fd = bpf_obj_get(path);
	if (fd < 0)
		return;
	if (bpf_link_detach(fd))
		log_debug("%s: its device is gone", path);
	close(fd);
}

void detach_xdp_link(const char *directory)
{
	detach_link(directory, "xdp_native");
	detach_link(directory, "xdp_generic");
}

void detach_tcx_link(const char *directory)
{
	detach_link(directory, "tcx");
}

static void explain_xdp_failure(const struct interface *interface, int err)
{
	const char *name = interface->name;
	__u32 id = 0;

	switch (err) {
	case -EOPNOTSUPP:
		log_error(
			"cannot attach XDP to %s: its driver has no native XDP; `%s --generic` attaches it in generic mode, which is slower",
			name, operator_hint("load", name));
		return;
	case -EBUSY:
	case -EEXIST:
		bpf_xdp_query_id(interface->ifindex, 0, &id);
		log_error(
			"cannot attach XDP to %s: another XDP program (id %u) is attached; detach it first (`bpftool net` shows it)",
			name, id);
		return;
	case -ERANGE:
		log_error(
			"cannot attach XDP to %s: its MTU (of a veth, its peer's) is too large for the driver with XDP; `ip link set dev %s mtu 1500` makes it smaller",
			name, name);
		return;
	case -EINVAL:
		log_error(
			"cannot attach XDP to %s: %s; the kernel may be older than 5.9, which has no XDP links, or the driver refuses its settings (MTU, large receive offload): `dmesg` may say which",
			name, strerror(-err));
		return;
	default:
		log_error("cannot attach XDP to %s: %s", name, strerror(-err));
	}
}

static int attach_xdp(struct interface *interface, int program_fd, bool allow_generic,
		      const char *directory)
{
	DECLARE_LIBBPF_OPTS(bpf_link_create_opts, options, .flags = XDP_FLAGS_DRV_MODE);
	int link_fd, err;

	interface->xdp_mode = XDP_MODE_NATIVE;
	link_fd = bpf_link_create(program_fd, interface->ifindex, BPF_XDP, &options);
	if (link_fd == -EOPNOTSUPP && allow_generic) {
		log_warning("%s has no native XDP: attaching in generic mode, which is slower",
			    interface->name);
		interface->xdp_mode = XDP_MODE_GENERIC;
		options.flags = XDP_FLAGS_SKB_MODE;
		link_fd = bpf_link_create(program_fd, interface->ifindex, BPF_XDP, &options);
	}
	if (link_fd < 0) {
		explain_xdp_failure(interface, link_fd);
		return link_fd;
	}
	err = pin_in(directory,
		     interface->xdp_mode == XDP_MODE_NATIVE ? "xdp_native" : "xdp_generic",
		     link_fd);
	close(link_fd);
	return err;
}

/* libbpf 1.1 does not know tcx, so make the system call directly. */
static int create_tcx_link(int program_fd, unsigned int ifindex)
{
	union bpf_attr attributes;
	long fd;

	memset(&attributes, 0, sizeof(attributes));
	attributes.link_create.prog_fd = program_fd;
	attributes.link_create.target_ifindex = ifindex;
	attributes.link_create.attach_type = ATTACH_TYPE_TCX_EGRESS;
	fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attributes, sizeof(attributes));
	return fd < 0 ? -errno : (int)fd;
}

static int remove_filter(const struct stepwise_protocol *protocol, unsigned int ifindex)
{
	DECLARE_LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex, .attach_point = BPF_TC_EGRESS);
	DECLARE_LIBBPF_OPTS(bpf_tc_opts, filter, .priority = protocol->port,
			    .handle = FILTER_HANDLE);

	return bpf_tc_detach(&hook, &filter);
}

/*
 * A filter outlives this process without a link, so that it must be found again: its priority is
 * the protocol's port.
 */
static int attach_filter(const struct stepwise_protocol *protocol, struct interface *interface,
			 int program_fd, const char *directory)
{
	DECLARE_LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = interface->ifindex,
			    .attach_point = BPF_TC_EGRESS);
	DECLARE_LIBBPF_OPTS(bpf_tc_opts, filter, .prog_fd = program_fd, .priority = protocol->port,
			    .handle = FILTER_HANDLE);
	int err;

	err = bpf_tc_hook_create(&hook);
	interface->made_qdisc = !err;
	if (err && err != -EEXIST) {
		log_error(
			"cannot make a clsact qdisc on %s: %s; the kernel needs tcx (6.6) or CONFIG_NET_SCH_INGRESS",
			interface->name, strerror(-err));
		return err;
	}
	err = bpf_tc_attach(&hook, &filter);
	if (err) {
		log_error(
			"cannot attach a TC filter to %s: %s; the kernel needs tcx (6.6) or CONFIG_NET_CLS_BPF",
			interface->name, strerror(-err));
		return err;
	}
	interface->tc_mode = TC_MODE_CLSACT;
	return pin_in(directory, "clsact", program_fd);
}

static int attach_tc(const struct stepwise_protocol *protocol, struct interface *interface,
		     int program_fd, bool clsact, const char *directory)
{
	int link_fd = clsact ? -EINVAL : create_tcx_link(program_fd, interface->ifindex);
	int err;

	/* Kernels before 6.6 return this for an unknown attach type. */
	if (link_fd == -EINVAL) {
		if (!clsact)
			log_info("the kernel has no tcx (6.6): attaching a clsact filter to %s",
				 interface->name);
		return attach_filter(protocol, interface, program_fd, directory);
	}
	if (link_fd < 0) {
		log_error("cannot attach TC egress (tcx) to %s: %s", interface->name,
			  strerror(-link_fd));
		return link_fd;
	}
	interface->tc_mode = TC_MODE_TCX;
	err = pin_in(directory, "tcx", link_fd);
	close(link_fd);
	return err;
}

int attach_programs(const struct stepwise_protocol *protocol, struct interface *interface,
		    int xdp_fd, int tc_fd, const struct attach_options *options,
		    const char *directory)
{
	__u32 other_id = 0;
	int err = 0;

	if (bpf_xdp_query_id(interface->ifindex, 0, &other_id) == 0 && other_id) {
		explain_xdp_failure(interface, -EBUSY);
		return -EBUSY;
	}
	/* So no load holds this interface: a filter of ours is left from a load that was killed. */
	remove_filter(protocol, interface->ifindex);
	/*
	 * Attach TC first, so that the reply to a forwarded request never leaves without
	 * completion.
	 */
	interface->tc_mode = TC_MODE_NONE;
	if (tc_fd >= 0)
		err = attach_tc(protocol, interface, tc_fd, options->clsact, directory);
	if (!err)
		err = attach_xdp(interface, xdp_fd, options->allow_generic, directory);
	if (err)
		detach_filter(protocol, interface);
	return err;
}

int detach_filter(const struct stepwise_protocol *protocol, const struct interface *interface)
{
	DECLARE_LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = interface->ifindex,
			    .attach_point = BPF_TC_INGRESS | BPF_TC_EGRESS);
	int err = 0;

	if (interface->gone)
		return 0;
	if (interface->tc_mode == TC_MODE_CLSACT)
		err = remove_filter(protocol, interface->ifindex);
	if (err && err != -ENOENT) {
		log_error(
			"cannot detach the TC filter from %s: %s; `tc filter del dev %s egress prio %u` does it",
			interface->name, strerror(-err), interface->name, protocol->port);
		return err;
	}
	/* Only while undoing a load. Later, others may have filters in it. */
	if (interface->made_qdisc)
		bpf_tc_hook_destroy(&hook);
	return 0;
}
