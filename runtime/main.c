/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bpf/libbpf.h>

#include "hint.h"
#include "loader.h"
#include "log.h"
#include "pins.h"
#include "serve.h"
#include "status.h"

#define EXIT_FAILED 1
#define EXIT_USAGE 2
#define EXIT_PRIVILEGE 4  /* as of init scripts in the LSB */

static const struct stepwise_protocol *const protocol = &stepwise_protocol;

struct arguments {
	const char *command;
	const char *interface;
	struct attach_options attach;
	struct serve_options serve;
	struct status_options status;
	enum log_level level;
	bool purge;
	bool help;
};

enum option_code {
	OPTION_GENERIC = 256,
	OPTION_CLSACT,
	OPTION_PURGE,
	OPTION_ALL,
	OPTION_JSON,
	OPTION_PROMETHEUS,
	OPTION_DAEMONIZE,
	OPTION_FOREGROUND,
	OPTION_USER,
	OPTION_RECEIVE_BUFFER,
};

static const struct option long_options[] = {
	{ "generic", no_argument, NULL, OPTION_GENERIC },
	{ "clsact", no_argument, NULL, OPTION_CLSACT },
	{ "purge", no_argument, NULL, OPTION_PURGE },
	{ "all", no_argument, NULL, OPTION_ALL },
	{ "json", no_argument, NULL, OPTION_JSON },
	{ "prometheus", no_argument, NULL, OPTION_PROMETHEUS },
	{ "daemonize", no_argument, NULL, OPTION_DAEMONIZE },
	{ "foreground", no_argument, NULL, OPTION_FOREGROUND },
	{ "user", required_argument, NULL, OPTION_USER },
	{ "receive-buffer", required_argument, NULL, OPTION_RECEIVE_BUFFER },
	{ "verbose", no_argument, NULL, 'v' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "help", no_argument, NULL, 'h' },
	{},
};

#define OPTIONS_MAX 4

/* Which commands an option and an interface go with. */
static const struct {
	const char *name;
	bool takes_interface;
	int options[OPTIONS_MAX];
} commands[] = {
	{ "load", true, { OPTION_GENERIC, OPTION_CLSACT } },
	{ "unload", true, { OPTION_PURGE } },
	{ "purge", false, {} },
	{ "status", false, { OPTION_ALL, OPTION_JSON, OPTION_PROMETHEUS } },
	{ "serve", false, { OPTION_DAEMONIZE, OPTION_FOREGROUND, OPTION_USER, OPTION_RECEIVE_BUFFER } },
};

#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

static void print_help(FILE *stream)
{
	const char *name = protocol->name;

	fprintf(stream,
		"The %s protocol in the kernel's fast path, on UDP port %u.\n"
		"\n"
		"  %sd load INTERFACE [--generic] [--clsact]   attach to an interface, in native XDP mode\n"
		"  %sd unload INTERFACE [--purge]              detach; its tables stay for the next load\n"
		"  %sd purge                                   remove the tables and what they hold\n"
		"  %sd status [--all | --json | --prometheus]  what is loaded and what it has counted\n"
		"  %sd serve [--daemonize] [--user NAME]       answer the rare path and sweep\n"
		"\n"
		"  --generic       accept generic XDP mode where the driver has no native one\n"
		"  --clsact        attach TC as a filter also where the kernel has tcx links\n"
		"  --all           also the counters that are zero\n"
		"  --daemonize     leave the terminal when ready\n"
		"  --user NAME     run as this user once everything is open\n"
		"  --receive-buffer BYTES\n"
		"                  room in each socket, and in the ring of a protocol that\n"
		"                  looks ahead, for what waits for the daemon (%u)\n"
		"  -v, --verbose   also say what libbpf has to say\n"
		"  -q, --quiet     only errors\n"
		"\n"
		"STEPWISE_BPFFS names the BPF file system (/sys/fs/bpf), STEPWISE_RUN the directory for\n"
		"run state (/run/stepwise). One network namespace is served; another one needs both of its own.\n"
		"Exit code 1: it could not be done. 2: wrong command line. 4: privilege is missing.\n",
		name, protocol->port, name, name, name, name, name, SERVE_BUFFER_BYTES);
}

static bool parse_bytes(const char *text, __u32 *bytes)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || *end || !isdigit((unsigned char)*text) || !value || value > SERVE_BUFFER_BYTES_MAX) {
		log_error("--receive-buffer %s: a number of bytes from 1 to %u is wanted", text, SERVE_BUFFER_BYTES_MAX);
		return false;
	}
	*bytes = (__u32)value;
	return true;
}

static bool parse_option(int code, struct arguments *arguments)
{
	switch (code) {
	case OPTION_GENERIC:
		arguments->attach.allow_generic = true;
		return true;
	case OPTION_CLSACT:
		arguments->attach.clsact = true;
		return true;
	case OPTION_PURGE:
		arguments->purge = true;
		return true;
	case OPTION_ALL:
		arguments->status.all = true;
		return true;
	case OPTION_JSON:
		arguments->status.format = STATUS_JSON;
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
	default:
		return false;
	}
}

/* Refuses a combination that no command has; options of the command line by their bit from OPTION_GENERIC on. */
static bool check_command(const struct arguments *arguments, unsigned int options_given, int interfaces_given)
{
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		unsigned int known = 0;

		if (strcmp(commands[i].name, arguments->command))
			continue;
		for (size_t j = 0; j < OPTIONS_MAX && commands[i].options[j]; j++)
			known |= 1u << (commands[i].options[j] - OPTION_GENERIC);
		for (const struct option *option = long_options; option->name; option++) {
			if (option->val < OPTION_GENERIC || !(options_given & ~known & 1u << (option->val - OPTION_GENERIC)))
				continue;
			log_error("%s does not take --%s; --help shows what goes with what", arguments->command, option->name);
			return false;
		}
		if (interfaces_given == commands[i].takes_interface && !(interfaces_given && !*arguments->interface))
			return true;
		if (interfaces_given == 1 && commands[i].takes_interface) {
			log_error("%s takes one INTERFACE, and the name given is empty; `ip link` lists them", arguments->command);
			return false;
		}
		if (commands[i].takes_interface)
			log_error("%s takes one INTERFACE, not %d; `ip link` lists them", arguments->command, interfaces_given);
		else
			log_error("%s takes no argument", arguments->command);
		return false;
	}
	log_error("there is no command %s; there are load, unload, purge, status and serve", arguments->command);
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
	if (arguments->help)
		return true;
	if (optind == count) {
		print_help(stderr);
		return false;
	}
	arguments->command = values[optind];
	arguments->interface = values[optind + 1];
	return check_command(arguments, options_given, count - optind - 1);
}

static int run(const struct arguments *arguments)
{
	const char *command = arguments->command;

	if (!strcmp(command, "load"))
		return command_load(protocol, arguments->interface, &arguments->attach);
	if (!strcmp(command, "unload"))
		return command_unload(protocol, arguments->interface, arguments->purge);
	if (!strcmp(command, "purge"))
		return command_purge(protocol);
	if (!strcmp(command, "status"))
		return command_status(protocol, &arguments->status);
	return command_serve(protocol, &arguments->serve);
}

int main(int count, char **values)
{
	struct arguments arguments = { .level = LOG_LEVEL_INFO };
	static char program[64];

	snprintf(program, sizeof(program), "%sd", protocol->name);
	log_open(program, LOG_LEVEL_INFO);
	hint_open(protocol, count && *values[0] ? values[0] : program);
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	if (!parse_arguments(count, values, &arguments))
		return EXIT_USAGE;
	if (arguments.help) {
		print_help(stdout);
		return 0;
	}
	log_open(program, arguments.level);
	if (pins_open(protocol))
		return EXIT_USAGE;
	switch (run(&arguments)) {
	case 0:
		return 0;
	case -EPERM:
	case -EACCES:
		return EXIT_PRIVILEGE;
	default:
		return EXIT_FAILED;
	}
}
