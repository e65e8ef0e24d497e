/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/operator_hint.h"
#include "state/birth.h"
#include "state/pins.h"
#include "state/programs.h"

#define BORN "state/born"

int birth_pin(bool first)
{
	return pin_number(BORN, first ? 0 : clock_now_ns());
}

int birth_read(__u64 *born_ns)
{
	char path[PATH_MAX];
	int pinned = pins_path(path, BORN);

	if (!pinned)
		pinned = pinned_identity(path, 0, born_ns);
	if (pinned != PINNED_NOTHING)
		return pinned < 0 ? pinned : 0;
	log_error(
		"cannot read %s, the time when the tables were made: it does not exist; unload every interface and run `%s`",
		path, operator_hint("purge", ""));
	return -ENOENT;
}

/* If the clock is before that moment, it is another clock, and the age is unknown. */
__u64 birth_age_ns(__u64 born_ns, __u64 now_ns)
{
	if (!born_ns)
		return ~0ull;
	return now_ns > born_ns ? now_ns - born_ns : 0;
}

void birth_tell(const struct stepwise_protocol *protocol)
{
	__u64 born_ns = 0, age_ns;

	if (!protocol->young_ns || birth_read(&born_ns))
		return;
	age_ns = birth_age_ns(born_ns, clock_now_ns());
	if (age_ns >= protocol->young_ns)
		return;
	log_info(
		"the tables are new, and clients may still rely on promises of earlier tables: the server promises nothing for another %.1f s (if no client can, load with --first)",
		(double)(protocol->young_ns - age_ns) / 1e9);
}
