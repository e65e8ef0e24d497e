/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Messages to the operator on standard error, and the messages of libbpf. */
#ifndef STEPWISE_LOG_H
#define STEPWISE_LOG_H

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARNING,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG,
};

/*
 * `program` starts every line. Messages above `level` are not printed. Also redirects libbpf's
 * messages to this log.
 */
void log_open(const char *program, enum log_level level);

/* One sentence: what was being done, to what, what was found and what would work. */
__attribute__((format(printf, 1, 2))) void log_error(const char *format, ...);
__attribute__((format(printf, 1, 2))) void log_warning(const char *format, ...);
__attribute__((format(printf, 1, 2))) void log_info(const char *format, ...);
__attribute__((format(printf, 1, 2))) void log_debug(const char *format, ...);

/* Returns libbpf's warnings so far, one a line; "" if there were none. */
const char *log_libbpf_warnings(void);

#endif
