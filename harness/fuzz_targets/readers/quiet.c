/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Formats log messages, so that their arguments are read, and discards them. */
#include <stdarg.h>
#include <stdio.h>

#include "base/log.h"

__attribute__((format(printf, 1, 0))) static void forget(const char *format, va_list arguments)
{
	char line[2048];

	vsnprintf(line, sizeof(line), format, arguments);
}

#define LOG_FUNCTION(name)                   \
	void name(const char *format, ...)   \
	{                                    \
		va_list arguments;           \
                                             \
		va_start(arguments, format); \
		forget(format, arguments);   \
		va_end(arguments);           \
	}

LOG_FUNCTION(log_error)
LOG_FUNCTION(log_warning)
LOG_FUNCTION(log_info)
LOG_FUNCTION(log_debug)
