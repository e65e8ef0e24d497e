/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <bpf/libbpf.h>
#include "base/log.h"

static const char *log_program = "stepwise";
static enum log_level log_threshold = LOG_LEVEL_INFO;
static char libbpf_warnings[4096];

__attribute__((format(printf, 2, 0))) static void log_write(enum log_level level,
							    const char *format, va_list arguments)
{
	static const char *const prefixes[] = {
		[LOG_LEVEL_ERROR] = "error: ",
		[LOG_LEVEL_WARNING] = "warning: ",
		[LOG_LEVEL_INFO] = "",
		[LOG_LEVEL_DEBUG] = "debug: ",
	};
	char line[2048];

	if (level > log_threshold)
		return;
	/* One write per line, so that the lines of two processes do not mix. */
	vsnprintf(line, sizeof(line), format, arguments);
	fprintf(stderr, "%s: %s%s\n", log_program, prefixes[level], line);
}

#define LOG_FUNCTION(name, level)                    \
	void name(const char *format, ...)           \
	{                                            \
		va_list arguments;                   \
                                                     \
		va_start(arguments, format);         \
		log_write(level, format, arguments); \
		va_end(arguments);                   \
	}

LOG_FUNCTION(log_error, LOG_LEVEL_ERROR)
LOG_FUNCTION(log_warning, LOG_LEVEL_WARNING)
LOG_FUNCTION(log_info, LOG_LEVEL_INFO)
LOG_FUNCTION(log_debug, LOG_LEVEL_DEBUG)

/*
 * A warning of libbpf is often an expected failure (a probe, a fallback), so it is detail for
 * --verbose. The message for the operator comes from the caller, who knows what was being done.
 */
__attribute__((format(printf, 2, 0))) static int log_libbpf(enum libbpf_print_level level,
							    const char *format, va_list arguments)
{
	size_t length = strlen(libbpf_warnings);
	char text[512];

	if (level == LIBBPF_DEBUG)
		return 0;
	vsnprintf(text, sizeof(text), format, arguments);
	if (level == LIBBPF_WARN)
		snprintf(libbpf_warnings + length, sizeof(libbpf_warnings) - length, "%s", text);
	text[strcspn(text, "\n")] = '\0';
	log_debug("%s", text);
	return 0;
}

const char *log_libbpf_warnings(void)
{
	return libbpf_warnings;
}

void log_open(const char *program, enum log_level level)
{
	log_program = program;
	log_threshold = level;
	setvbuf(stderr, NULL, _IOLBF, BUFSIZ);
	libbpf_set_print(log_libbpf);
}
