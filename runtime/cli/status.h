/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#ifndef STEPWISE_STATUS_H
#define STEPWISE_STATUS_H

#include <stdbool.h>

#include "stepwise.h"

enum status_format {
	STATUS_TEXT,
	STATUS_JSON,
	STATUS_PROMETHEUS,
};

struct status_options {
	enum status_format format;
	bool all; /* as text, also print the counters that are zero */
};

/*
 * Prints what is loaded, and what the programs have counted. It is not an error if nothing is
 * loaded.
 */
int command_status(const struct stepwise_protocol *protocol, const struct status_options *options);

#endif
