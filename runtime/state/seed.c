/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/frozen.h"
#include "base/log.h"
#include "base/operator_hint.h"
#include "state/pins.h"
#include "state/seed.h"

#define WORDS (sizeof(struct stepwise_seed) / sizeof(__u64))
#define WORD_DIGITS 16

static bool is_odd(const struct stepwise_seed *seed)
{
	return seed->upper & seed->lower & 1;
}

bool seed_parse(const char *text, struct stepwise_seed *seed)
{
	__u64 words[WORDS] = {};
	size_t length = 0;

	for (; length < WORDS * WORD_DIGITS && isxdigit((unsigned char)text[length]); length++) {
		const char digit[] = { text[length], '\0' };

		words[length / WORD_DIGITS] = words[length / WORD_DIGITS] << 4 |
					      strtoul(digit, NULL, 16);
	}
	*seed = (struct stepwise_seed){ .salt = words[0], .upper = words[1], .lower = words[2] };
	if (length == WORDS * WORD_DIGITS && !text[length] && is_odd(seed))
		return true;
	log_error(
		"--seed %s: give %zu hexadecimal digits, %d for each of three numbers; the second and the third must be odd",
		text, WORDS * WORD_DIGITS, WORD_DIGITS);
	return false;
}

static int draw(struct stepwise_seed *seed)
{
	int err = frozen_draw("a seed for the tables", seed, sizeof(*seed));

	seed->upper |= 1;
	seed->lower |= 1;
	return err;
}

static int read_pinned(struct stepwise_seed *seed)
{
	char path[PATH_MAX];
	int err;

	err = pins_path(path, "state/seed");
	if (err)
		return err;
	err = frozen_read(path, seed);
	if (!err && !is_odd(seed))
		err = -EINVAL;
	if (err)
		log_error(
			"cannot read the tables' seed %s: %s; without it no key can be found: run this as root, or unload every interface and run `%s`, which removes their content",
			path, strerror(-err), operator_hint("purge", ""));
	return err;
}

int seed_choose(const struct stepwise_protocol *protocol, bool reuse,
		const struct stepwise_seed *given, struct stepwise_seed *seed)
{
	int err;

	if (!protocol->seed) {
		if (given)
			log_error("%s accepts no --seed: it finds no cell by a hash",
				  protocol->name);
		return given ? -EINVAL : 0;
	}
	if (!reuse && given)
		*seed = *given;
	if (!reuse)
		return given ? 0 : draw(seed);
	err = read_pinned(seed);
	if (err || !given || !memcmp(seed, given, sizeof(*seed)))
		return err;
	log_error(
		"cannot load %s with that --seed: the existing tables use another seed; leave it out, or run `%s`, which removes their content",
		protocol->name, operator_hint("purge", ""));
	return -EEXIST;
}

int seed_pin(const char *path, const struct stepwise_seed *seed)
{
	return frozen_pin("the tables' seed", "seed", path, seed, sizeof(*seed));
}

int seed_take(const struct stepwise_protocol *protocol)
{
	return protocol->seed ? read_pinned(protocol->seed) : 0;
}
