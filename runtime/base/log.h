/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Messages to the operator on standard error, and what libbpf has to say. */
#ifndef STEPWISE_LOG_H
#define STEPWISE_LOG_H

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARNING,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG,
};

/* `program` starts every line; what is above `level` is not printed. Also takes over libbpf's
 * messages. */
void log_open(const char *program, enum log_level level);

/* One sentence that says what was being done, to what, what was found and what would work. */
__attribute__((format(printf, 1, 2))) void log_error(const char *format, ...);
__attribute__((format(printf, 1, 2))) void log_warning(const char *format, ...);
__attribute__((format(printf, 1, 2))) void log_info(const char *format, ...);
__attribute__((format(printf, 1, 2))) void log_debug(const char *format, ...);

/* What libbpf has warned of so far, a line each; "" where there was nothing. */
const char *log_libbpf_warnings(void);

#endif
