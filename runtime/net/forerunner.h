/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A forerunner is a daemon that was killed. It keeps its port and its queues until the kernel
 * releases them: some milliseconds, or longer while the processors are busy.
 */
#ifndef STEPWISE_FORERUNNER_H
#define STEPWISE_FORERUNNER_H

#include <stdbool.h>
#include <unistd.h>

#define FORERUNNER_PAUSE_US 2000
#define FORERUNNER_ATTEMPTS_MAX 500

/*
 * Pauses before another attempt to get what a forerunner may have. Returns false after a second in
 * all. `attempts` starts with 0.
 */
static inline bool forerunner_wait(unsigned int *attempts)
{
	if (*attempts == FORERUNNER_ATTEMPTS_MAX)
		return false;
	++*attempts;
	usleep(FORERUNNER_PAUSE_US);
	return true;
}

#endif
