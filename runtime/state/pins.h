/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The pins of a protocol, under <bpffs>/stepwise/<protocol>/. The BPF file system is
 * $STEPWISE_BPFFS, or /sys/fs/bpf.
 *
 * state/layout                 what the tables depend on (an array of one id)
 * state/seed                   of the hashes that select cells (an array of one), if there are any
 * state/key                    of the tokens for clients (likewise)
 * state/tables/<table>         the protocol's state; stays until purge
 * build/identity               the build of the programs (an array of one id)
 * build/counters               counters of that build's programs
 * build/stepwise_sockets       the daemon's sockets, for packets that XDP forwards
 * build/stepwise_devices       the interfaces that look ahead
 * build/stepwise_ring          packets that their second program forwards
 * build/stepwise_ring_limits   how many of these may wait
 *                              (these three only if the protocol looks ahead)
 * build/stepwise_programs      the program for messages that have operations, if they may
 * build/programs/<program>     xdp, tc and sweep programs
 * interfaces/<key>/xdp_native  or xdp_generic, tcx or clsact
 * staging/                     a load in progress, or the rest of an interrupted one
 *
 * A load collects everything in staging/, and then renames it into place. So a load that is killed
 * leaves nothing behind that counts.
 */
#ifndef STEPWISE_PINS_H
#define STEPWISE_PINS_H

#include <stdbool.h>
#include <limits.h>

#include "stepwise.h"

/* Reads the environment. Call it before the others. */
int pins_open(const struct stepwise_protocol *protocol);

/* <bpffs>/stepwise/<protocol> */
const char *pins_base(void);

/* Formats a path below pins_base() into a PATH_MAX buffer. */
__attribute__((format(printf, 2, 3))) int pins_path(char path[PATH_MAX], const char *format, ...);

/* Returns the directory of run state: $STEPWISE_RUN, or /run/stepwise. */
const char *run_directory(void);
__attribute__((format(printf, 2, 3))) int run_path(char path[PATH_MAX], const char *format, ...);
int run_directory_make(void);

/*
 * Makes the base directory, and mounts the BPF file system if there is none. Mounts it only if the
 * mount will stay, and not in the private mounts of one command.
 */
int pins_make_base(void);

enum pins_hold {
	PINS_SHARED,
	PINS_EXCLUSIVE,
};

/*
 * Keeps other commands off the pins until the returned descriptor is closed. Returns -ENOENT,
 * without a message, if the base directory does not exist.
 */
int pins_hold(enum pins_hold how);

bool pins_exist(const char *path);
int pins_make_directory(const char *path);

/* Removes a file, or a directory with its content. It is not an error if it does not exist. */
int pins_remove(const char *path);

#endif
