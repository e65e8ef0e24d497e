/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#ifndef STEPWISE_TRANSMITS_H
#define STEPWISE_TRANSMITS_H

/*
 * Whether an interface of this network namespace sends what XDP redirects to it. NULL, or
 * why not, or why that cannot be known: what follows "because".
 */
const char *why_not_transmitting(unsigned int ifindex);

#endif
