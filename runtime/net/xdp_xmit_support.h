/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#ifndef STEPWISE_XDP_XMIT_SUPPORT_H
#define STEPWISE_XDP_XMIT_SUPPORT_H

/*
 * Tells whether an interface of this network namespace sends packets that XDP redirects to it.
 * Returns NULL if it does, else the reason, phrased to follow "because". The reason may also be why
 * that is unknown.
 */
const char *why_not_transmitting(unsigned int ifindex);

#endif
