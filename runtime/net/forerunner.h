/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A daemon that was killed still has its port and its queues until the kernel comes to letting go
 * of them, some milliseconds after its end, or as long as others keep the processors busy.
 */
#ifndef STEPWISE_FORERUNNER_H
#define STEPWISE_FORERUNNER_H

#include <stdbool.h>
#include <unistd.h>

#define FORERUNNER_PAUSE_US 2000
#define FORERUNNER_ATTEMPTS_MAX 500

/* Pauses before another attempt to get what a forerunner may have; false once a second was waited.
 * `attempts` begins with 0. */
static inline bool forerunner_wait(unsigned int *attempts)
{
	if (*attempts == FORERUNNER_ATTEMPTS_MAX)
		return false;
	++*attempts;
	usleep(FORERUNNER_PAUSE_US);
	return true;
}

#endif
