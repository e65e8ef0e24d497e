/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Preloaded into a daemon: an attacker who wins every race. Whenever a file is to be made whose
 * name ends with .new, there is one by then: a link to $PLANTED, symbolic or, with $PLANTED_HARD,
 * another name of it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void plant(int folder, const char *name)
{
	const char *target = getenv("PLANTED");
	const size_t length = strlen(name);

	if (!target || length < 4 || strcmp(name + length - 4, ".new"))
		return;
	unlinkat(folder, name, 0);
	if (getenv("PLANTED_HARD") ? linkat(AT_FDCWD, target, folder, name, 0) :
				     symlinkat(target, folder, name))
		abort();
}

int openat(int folder, const char *name, int flags, ...)
{
	int (*real)(int, const char *, int, ...) = dlsym(RTLD_NEXT, "openat");
	va_list arguments;
	mode_t mode;

	va_start(arguments, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
	va_end(arguments);
	if (flags & O_CREAT)
		plant(folder, name);
	return real(folder, name, flags, mode);
}
