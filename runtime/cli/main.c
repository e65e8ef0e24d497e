/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/libbpf.h>

#include "base/log.h"
#include "base/operator_hint.h"
#include "cli/segments_command.h"
#include "cli/status.h"
#include "daemon/serve.h"
#include "load/loader.h"
#include "load/restore.h"
#include "state/daemon_claim.h"
#include "state/pins.h"
#include "state/seed.h"

#define EXIT_FAILED 1
#define EXIT_USAGE 2
#define EXIT_CORRUPT 3
#define EXIT_PRIVILEGE 4 /* insufficient privilege, as in init scripts of the LSB */

/* The Makefile takes it from pyproject.toml. Linters compile without the Makefile. */
#ifndef STEPWISE_VERSION
#define STEPWISE_VERSION "unknown"
#endif

static const struct stepwise_protocol *const protocol = &stepwise_protocol;

struct arguments {
	const char *command;
	const char *argument; /* name of an interface, a folder or a file */
	struct load_options load;
	struct stepwise_seed seed;
	struct serve_options serve;
	struct status_options status;
	struct segments_options segments;
	enum log_level level;
	bool purge;
	bool help;
	bool version;
};

enum option_code {
	OPTION_VERSION = 255,
	OPTION_GENERIC,
	OPTION_CLSACT,
	OPTION_SEED,
	OPTION_FIRST,
	OPTION_PURGE,
	OPTION_ALL,
	OPTION_JSON,
	OPTION_PROMETHEUS,
	OPTION_DAEMONIZE,
	OPTION_FOREGROUND,
	OPTION_USER,
	OPTION_RECEIVE_BUFFER,
	OPTION_SEGMENTS,
	OPTION_ENTRIES,
	OPTION_TEXT,
	OPTION_OUTPUT,
	OPTION_BEFORE,
};

static const struct option long_options[] = {
	{ "generic", no_argument, NULL, OPTION_GENERIC },
	{ "clsact", no_argument, NULL, OPTION_CLSACT },
	{ "seed", required_argument, NULL, OPTION_SEED },
	{ "first", no_argument, NULL, OPTION_FIRST },
	{ "purge", no_argument, NULL, OPTION_PURGE },
	{ "all", no_argument, NULL, OPTION_ALL },
	{ "json", no_argument, NULL, OPTION_JSON },
	{ "prometheus", no_argument, NULL, OPTION_PROMETHEUS },
	{ "daemonize", no_argument, NULL, OPTION_DAEMONIZE },
	{ "foreground", no_argument, NULL, OPTION_FOREGROUND },
	{ "user", required_argument, NULL, OPTION_USER },
	{ "receive-buffer", required_argument, NULL, OPTION_RECEIVE_BUFFER },
	{ "segments", required_argument, NULL, OPTION_SEGMENTS },
	{ "entries", no_argument, NULL, OPTION_ENTRIES },
	{ "text", no_argument, NULL, OPTION_TEXT },
	{ "output", required_argument, NULL, OPTION_OUTPUT },
	{ "before", required_argument, NULL, OPTION_BEFORE },
	{ "verbose", no_argument, NULL, 'v' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, OPTION_VERSION },
	{},
};

#define OPTIONS_MAX 5

enum takes {
	TAKES_NOTHING,
	TAKES_INTERFACE,
	TAKES_FOLDER,
	TAKES_FILE,
};

/* Defines the options and the argument of each command, and the protocols that have it. */
static const struct command {
	const char *name;
	enum takes takes;
	bool drains;   /* only for a protocol with a drain */
	bool recovers; /* only for a protocol with a recovery */
	bool restores; /* only for a protocol that restores rows */
	int options[OPTIONS_MAX];
} commands[] = {
	{ .name = "load",
	  .takes = TAKES_INTERFACE,
	  .options = { OPTION_GENERIC, OPTION_CLSACT, OPTION_SEED, OPTION_FIRST } },
	{ .name = "unload", .takes = TAKES_INTERFACE, .options = { OPTION_PURGE } },
	{ .name = "purge" },
	{ .name = "restore", .takes = TAKES_FILE, .restores = true, .options = { OPTION_FIRST } },
	{ .name = "status", .options = { OPTION_ALL, OPTION_JSON, OPTION_PROMETHEUS } },
	{ .name = "serve",
	  .options = { OPTION_DAEMONIZE, OPTION_FOREGROUND, OPTION_USER, OPTION_RECEIVE_BUFFER,
		       OPTION_SEGMENTS } },
	{ .name = "stop" },
	{ .name = "segments",
	  .takes = TAKES_FOLDER,
	  .drains = true,
	  .options = { OPTION_JSON, OPTION_ENTRIES } },
	{ .name = "truncate", .takes = TAKES_FOLDER, .drains = true, .options = { OPTION_BEFORE } },
	{ .name = "recover",
	  .takes = TAKES_FOLDER,
	  .recovers = true,
	  .options = { OPTION_TEXT, OPTION_OUTPUT } },
};

#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

static bool has_command(const struct command *command)
{
	return (!command->drains || protocol->drain) &&
	       (!command->recovers || protocol->recovery) &&
	       (!command->restores || protocol->restore);
}

static void print_help(FILE *stream)
{
	const char *name = protocol->name;

	fprintf(stream,
		"The %s protocol in the kernel's fast path, on UDP port %u.\n"
		"\n"
		"  %sd load INTERFACE [--first] [--generic]    attach to an interface, in native XDP mode\n"
		"  %sd unload INTERFACE [--purge]              detach; its tables stay for the next load\n"
		"  %sd purge                                   remove the tables and their content\n"
		"  %sd status [--all | --json | --prometheus]  show what is loaded, and its counters\n"
		"  %sd serve [--daemonize] [--user NAME]       answer the rare path and sweep\n"
		"  %sd stop                                    stop the daemon, and wait until it has ended\n",
		name, protocol->port, name, name, name, name, name, name);
	if (protocol->drain)
		fprintf(stream,
			"        --segments DIR                         drain to the files in this folder\n"
			"  %sd segments DIR [--json] [--entries]       list their content, and torn or corrupt places\n"
			"  %sd truncate DIR --before NUMBER            remove older files, once their content is applied elsewhere\n",
			name, name);
	if (protocol->restore)
		fprintf(stream,
			"  %sd restore FILE                            put recovered rows into the tables; - reads standard input\n",
			name);
	if (protocol->recovery)
		fprintf(stream,
			"  %sd recover DIR [--text] [--output FILE]    make a row for each key from all whole entries\n",
			name);
	fprintf(stream,
		"\n"
		"  --first         if the tables are new: no client relies on promises of earlier\n"
		"                  tables, so the new ones need not wait\n"
		"  --generic       accept generic XDP mode if the driver has no native mode\n"
		"  --clsact        attach TC as a filter even if the kernel has tcx links\n"
		"  --seed HEX      for tests and repeatable runs: this seed instead of a random one, for\n"
		"                  the hashes of new tables; whoever knows it can choose keys that share a cell\n"
		"  --all           also show the counters that are zero\n"
		"  --daemonize     leave the terminal when ready\n"
		"  --user NAME     run as this user after everything that needs privilege is open\n"
		"  --receive-buffer BYTES\n"
		"                  size of each queue, and of the ring buffer, for requests that wait\n"
		"                  for the daemon (%u)\n"
		"  -v, --verbose   also print the messages of libbpf\n"
		"  -q, --quiet     print only errors\n"
		"  --version       print the version of Stepwise that this was built from\n"
		"\n"
		"STEPWISE_BPFFS names the BPF file system (/sys/fs/bpf), STEPWISE_RUN the directory for\n"
		"run state (/run/stepwise). One network namespace is served; another one needs its own two.\n"
		"Exit codes: 1: the command failed. 2: wrong command line. %s4: privilege is missing.\n",
		SERVE_BUFFER_BYTES, protocol->drain ? "3: segments are corrupt in places. " : "");
}

static bool parse_bytes(const char *text, __u32 *bytes)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || *end || !isdigit((unsigned char)*text) || !value ||
	    value > SERVE_BUFFER_BYTES_MAX) {
		log_error("--receive-buffer %s: give a number of bytes from 1 to %u", text,
			  SERVE_BUFFER_BYTES_MAX);
		return false;
	}
	*bytes = (__u32)value;
	return true;
}

static bool parse_number(const char *text, __u64 *number)
{
	char *end;

	errno = 0;
	*number = strtoull(text, &end, 10);
	if (!errno && !*end && isdigit((unsigned char)*text))
		return true;
	log_error("--before %s: give the number of the first segment to keep, as in its name",
		  text);
	return false;
}

/* Makes the path absolute, because a daemon in the background has another working directory. */
static bool take_folder(const char *folder, struct arguments *arguments)
{
	static char absolute[PATH_MAX];
	char here[PATH_MAX] = "";

	if (!*folder || (*folder != '/' && !getcwd(here, sizeof(here))) ||
	    snprintf(absolute, sizeof(absolute), "%s%s%s", here, *here ? "/" : "", folder) >=
		    (int)sizeof(absolute)) {
		log_error("--segments '%s': give the name of a folder", folder);
		return false;
	}
	arguments->serve.segments = absolute;
	return true;
}

/* Parses an option of the commands on segments. */
static bool parse_segments_option(int code, struct arguments *arguments)
{
	switch (code) {
	case OPTION_SEGMENTS:
		return take_folder(optarg, arguments);
	case OPTION_ENTRIES:
		arguments->segments.entries = true;
		return true;
	case OPTION_TEXT:
		arguments->segments.text = true;
		return true;
	case OPTION_OUTPUT:
		arguments->segments.output = optarg;
		return true;
	case OPTION_BEFORE:
		return parse_number(optarg, &arguments->segments.before);
	default:
		return false;
	}
}

static bool parse_option(int code, struct arguments *arguments)
{
	switch (code) {
	case OPTION_GENERIC:
		arguments->load.attach.allow_generic = true;
		return true;
	case OPTION_CLSACT:
		arguments->load.attach.clsact = true;
		return true;
	case OPTION_SEED:
		arguments->load.fresh.seed = &arguments->seed;
		return seed_parse(optarg, &arguments->seed);
	case OPTION_FIRST:
		arguments->load.fresh.first = true;
		return true;
	case OPTION_PURGE:
		arguments->purge = true;
		return true;
	case OPTION_ALL:
		arguments->status.all = true;
		return true;
	case OPTION_JSON:
		arguments->status.format = STATUS_JSON;
		arguments->segments.json = true;
		return true;
	case OPTION_PROMETHEUS:
		arguments->status.format = STATUS_PROMETHEUS;
		return true;
	case OPTION_DAEMONIZE:
		arguments->serve.daemonize = true;
		return true;
	case OPTION_FOREGROUND:
		arguments->serve.daemonize = false;
		return true;
	case OPTION_USER:
		arguments->serve.user = optarg;
		return true;
	case OPTION_RECEIVE_BUFFER:
		return parse_bytes(optarg, &arguments->serve.buffer_bytes);
	case 'v':
		arguments->level = LOG_LEVEL_DEBUG;
		return true;
	case 'q':
		arguments->level = LOG_LEVEL_ERROR;
		return true;
	case 'h':
		arguments->help = true;
		return true;
	case OPTION_VERSION:
		arguments->version = true;
		return true;
	default:
		return parse_segments_option(code, arguments);
	}
}

static bool check_options(const struct command *command, unsigned int options_given)
{
	unsigned int known = 0;

	for (size_t i = 0; i < OPTIONS_MAX && command->options[i]; i++)
		known |= 1u << (command->options[i] - OPTION_GENERIC);
	if (!protocol->drain)
		known &= ~(1u << (OPTION_SEGMENTS - OPTION_GENERIC));
	for (const struct option *option = long_options; option->name; option++) {
		if (option->val < OPTION_GENERIC ||
		    !(options_given & ~known & 1u << (option->val - OPTION_GENERIC)))
			continue;
		log_error("%s does not accept --%s; --help lists the options of each command",
			  command->name, option->name);
		return false;
	}
	return true;
}

/* Checks that the options that a command requires are there. */
static bool check_needed(const struct arguments *arguments)
{
	if (protocol->drain && !strcmp(arguments->command, "serve") && !arguments->serve.segments) {
		log_error("serve needs --segments DIR: the folder for the files that %s drains to",
			  protocol->name);
		return false;
	}
	if (!strcmp(arguments->command, "truncate") && !arguments->segments.before) {
		log_error("truncate needs --before NUMBER: the first segment to keep");
		return false;
	}
	return true;
}

static bool check_argument(const struct command *command, const struct arguments *arguments,
			   int given)
{
	static const char *const names[] = {
		[TAKES_INTERFACE] = "INTERFACE", [TAKES_FOLDER] = "DIR", [TAKES_FILE] = "FILE"
	};
	static const char *const places[] = {
		[TAKES_INTERFACE] = "; `ip link` lists them",
		[TAKES_FOLDER] = ": the folder of the segments",
		[TAKES_FILE] = ": a file that `recover` wrote, or - for standard input",
	};
	const char *what = names[command->takes], *where = places[command->takes];

	if (given == (command->takes != TAKES_NOTHING) && !(given && !*arguments->argument))
		return true;
	if (command->takes == TAKES_NOTHING)
		log_error("%s accepts no argument", command->name);
	else if (given == 1)
		log_error("%s needs one %s, but the given name is empty%s", command->name, what,
			  where);
	else
		log_error("%s needs one %s, not %d%s", command->name, what, given, where);
	return false;
}

/*
 * Refuses a combination that no command accepts. `options_given` has a bit for each option of the
 * command line, from OPTION_GENERIC on.
 */
static bool check_command(const struct arguments *arguments, unsigned int options_given,
			  int arguments_given)
{
	const char *last = NULL;
	char names[128] = "";
	size_t length = 0;

	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		if (!has_command(&commands[i]))
			continue;
		if (!strcmp(commands[i].name, arguments->command))
			return check_options(&commands[i], options_given) &&
			       check_argument(&commands[i], arguments, arguments_given) &&
			       check_needed(arguments);
		if (last)
			length += snprintf(names + length, sizeof(names) - length, "%s%s",
					   length ? ", " : "", last);
		last = commands[i].name;
	}
	log_error("unknown command %s; the commands are %s and %s", arguments->command, names,
		  last);
	return false;
}

static bool parse_arguments(int count, char **values, struct arguments *arguments)
{
	unsigned int options_given = 0;
	int code;

	while ((code = getopt_long(count, values, "vqh", long_options, NULL)) != -1) {
		if (!parse_option(code, arguments))
			return false;
		if (code >= OPTION_GENERIC)
			options_given |= 1u << (code - OPTION_GENERIC);
	}
	if (arguments->help || arguments->version)
		return true;
	if (optind == count) {
		print_help(stderr);
		return false;
	}
	arguments->command = values[optind];
	arguments->argument = values[optind + 1];
	return check_command(arguments, options_given, count - optind - 1);
}

/* Runs a command that needs no tables. Returns false if it is another command. */
static bool run_on_folder(const struct arguments *arguments, int *err)
{
	const char *command = arguments->command;

	if (!strcmp(command, "segments"))
		*err = command_segments(protocol->drain->entries, arguments->argument,
					&arguments->segments);
	else if (!strcmp(command, "truncate"))
		*err = command_truncate(protocol->drain->entries, arguments->argument,
					&arguments->segments);
	else if (!strcmp(command, "recover"))
		*err = command_recover(protocol->drain->entries, protocol->recovery,
				       arguments->argument, &arguments->segments);
	else
		return false;
	return true;
}

static int run(const struct arguments *arguments)
{
	const char *command = arguments->command;

	if (!strcmp(command, "load"))
		return command_load(protocol, arguments->argument, &arguments->load);
	if (!strcmp(command, "unload"))
		return command_unload(protocol, arguments->argument, arguments->purge);
	if (!strcmp(command, "purge"))
		return command_purge(protocol);
	if (!strcmp(command, "restore"))
		return command_restore(protocol, arguments->argument, arguments->load.fresh.first);
	if (!strcmp(command, "stop"))
		return command_stop(protocol);
	if (!strcmp(command, "status"))
		return command_status(protocol, &arguments->status);
	return command_serve(protocol, &arguments->serve);
}

static int exit_code(int err)
{
	switch (err) {
	case 0:
		return 0;
	case -EPERM:
	case -EACCES:
		return EXIT_PRIVILEGE;
	case -EBADMSG:
		return EXIT_CORRUPT;
	default:
		return EXIT_FAILED;
	}
}

int main(int count, char **values)
{
	struct arguments arguments = { .level = LOG_LEVEL_INFO };
	static char program[64];
	int err;

	snprintf(program, sizeof(program), "%sd", protocol->name);
	log_open(program, LOG_LEVEL_INFO);
	operator_hint_open(protocol, count && *values[0] ? values[0] : program);
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	if (!parse_arguments(count, values, &arguments))
		return EXIT_USAGE;
	if (arguments.help) {
		print_help(stdout);
		return 0;
	}
	if (arguments.version) {
		printf("%s %s\n", program, STEPWISE_VERSION);
		return 0;
	}
	log_open(program, arguments.level);
	if (run_on_folder(&arguments, &err))
		return exit_code(err);
	if (pins_open(protocol))
		return EXIT_USAGE;
	return exit_code(run(&arguments));
}
