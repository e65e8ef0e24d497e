/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <linux/capability.h>
#include <sys/capability.h>
#include <sys/prctl.h>

#include "base/log.h"
#include "base/privileges.h"

struct capability {
	cap_value_t value;
	const char *name;
	const char *why;
};

/* In the order in which they are added while fewer are not enough. */
static const struct capability daemon_capabilities[] = {
	{ CAP_BPF, "CAP_BPF", "to run the sweep's programs and read the tables" },
	{ CAP_NET_ADMIN, "CAP_NET_ADMIN", "to run the sweep's programs, which are of type XDP" },
};

#define DAEMON_CAPABILITY_COUNT (sizeof(daemon_capabilities) / sizeof(daemon_capabilities[0]))

static bool is_effective(cap_t capabilities, cap_value_t value)
{
	cap_flag_value_t flag = CAP_CLEAR;

	return cap_get_flag(capabilities, value, CAP_EFFECTIVE, &flag) == 0 && flag == CAP_SET;
}

int privileges_check(const char *doing)
{
	static const struct capability needed[] = {
		{ CAP_BPF, "CAP_BPF", "programs and maps" },
		{ CAP_PERFMON, "CAP_PERFMON", "pointer arithmetic in programs" },
		{ CAP_NET_ADMIN, "CAP_NET_ADMIN", "attaching to an interface" },
	};
	cap_t capabilities = cap_get_proc();
	char missing[256] = "";
	size_t length = 0;

	if (!capabilities)
		return -errno;
	/* CAP_SYS_ADMIN includes the first two. */
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		if (is_effective(capabilities, needed[i].value) ||
		    (needed[i].value != CAP_NET_ADMIN && is_effective(capabilities, CAP_SYS_ADMIN)))
			continue;
		length += snprintf(missing + length, sizeof(missing) - length, "%s%s (%s)",
				   length ? ", " : "", needed[i].name, needed[i].why);
	}
	cap_free(capabilities);
	if (!length)
		return 0;
	log_error("cannot %s: this process lacks %s; run it as root", doing, missing);
	return -EPERM;
}

/*
 * Permits the first `permitted` of daemon_capabilities and makes the first `effective` of them
 * effective. Drops everything else.
 */
static int set_capabilities(size_t permitted, size_t effective)
{
	cap_t capabilities = cap_init();
	int err = capabilities ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < permitted; i++) {
		const cap_value_t value = daemon_capabilities[i].value;

		if (cap_set_flag(capabilities, CAP_PERMITTED, 1, &value, CAP_SET) ||
		    (i < effective &&
		     cap_set_flag(capabilities, CAP_EFFECTIVE, 1, &value, CAP_SET)))
			err = -errno;
	}
	if (!err && cap_set_proc(capabilities))
		err = -errno;
	cap_free(capabilities);
	return err;
}

/*
 * Needs CAP_SETPCAP, so it must run before that is dropped. At the first capability that the kernel
 * does not have, the kernel returns EINVAL, which ends the loop.
 */
static int drop_bounding_set(void)
{
	for (unsigned long value = 0; prctl(PR_CAPBSET_READ, value, 0, 0, 0) >= 0; value++)
		if (prctl(PR_CAPBSET_DROP, value, 0, 0, 0))
			return -errno;
	return 0;
}

static int become(const char *name)
{
	struct passwd *user;

	errno = 0;
	user = getpwnam(name);
	if (!user) {
		log_error(
			"cannot become user %s: there is no such user; `getent passwd` lists all users",
			name);
		return -ENOENT;
	}
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) || setgroups(0, NULL) ||
	    setresgid(user->pw_gid, user->pw_gid, user->pw_gid) ||
	    setresuid(user->pw_uid, user->pw_uid, user->pw_uid)) {
		int err = -errno;

		log_error("cannot become user %s: %s; start serve as root", name, strerror(-err));
		return err;
	}
	return 0;
}

/* Counts how many of daemon_capabilities this process may use at all. */
static size_t count_permitted(void)
{
	cap_t capabilities = cap_get_proc();
	cap_flag_value_t flag;
	size_t count = 0;

	while (capabilities && count < DAEMON_CAPABILITY_COUNT &&
	       cap_get_flag(capabilities, daemon_capabilities[count].value, CAP_PERMITTED, &flag) ==
		       0 &&
	       flag == CAP_SET)
		count++;
	cap_free(capabilities);
	return count;
}

static int keep_the_least(bool (*still_works)(void *context), void *context)
{
	size_t permitted = count_permitted();
	int err;

	for (size_t count = 0; count <= permitted; count++) {
		err = set_capabilities(permitted, count);
		if (err)
			return err;
		if (!still_works(context))
			continue;
		for (size_t i = 0; i < count; i++)
			log_info("keeping %s %s", daemon_capabilities[i].name,
				 daemon_capabilities[i].why);
		if (!count)
			log_debug("keeping no capability: this kernel needs none");
		return set_capabilities(count, count);
	}
	log_error("cannot run the sweep's programs, or read the tables: %s; start serve as root",
		  strerror(errno));
	return -EPERM;
}

int privileges_drop(const char *user, bool (*still_works)(void *context), void *context)
{
	int err = 0;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		err = -errno;
	if (!err)
		err = drop_bounding_set();
	/*
	 * A process that is not root lacks the right to drop the bounding set, and has little to
	 * drop.
	 */
	if (err == -EPERM)
		err = 0;
	if (!err && user) {
		err = become(user);
		if (err)
			return err;
	}
	if (!err)
		err = keep_the_least(still_works, context);
	if (err && err != -EPERM)
		log_error("cannot drop privileges: %s", strerror(-err));
	return err;
}
