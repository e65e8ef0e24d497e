/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* A UDP socket that answers each datagram from the address it was asked at. */
#ifndef STEPWISE_UDP_ENDPOINT_H
#define STEPWISE_UDP_ENDPOINT_H

#include <stdbool.h>

#include "endpoint.h"

/* Binds to the port on every address of the family. NULL after a message, or with *unsupported where there is no such family. */
struct endpoint *udp_endpoint_open(int family, __u16 port, __u32 buffer_bytes, bool *unsupported);

#endif
