/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Where a protocol's pins are, under <bpffs>/stepwise/<protocol>/ (the BPF file
 * system is $STEPWISE_BPFFS, or /sys/fs/bpf):
 *
 *   state/layout                what the tables depend on (an array of one id)
 *   state/seed                  of the hashes that choose cells (an array of one), where there are
 * such state/key                   of the tokens that are made for clients (likewise)
 *   state/tables/<table>        the protocol's state; stays until purge
 *   build/identity              which build the programs are of (an array of one id)
 *   build/counters              counted by that build's programs
 *   build/stepwise_sockets      the daemon's, for what XDP forwards
 *   build/stepwise_devices      the interfaces that look ahead,
 *   build/stepwise_ring         where their second program puts what it forwards,
 *   build/stepwise_ring_limits  and how much of it; all three where the protocol looks ahead
 *   build/programs/<program>    xdp, tc and sweep programs
 *   interfaces/<key>/xdp_native or xdp_generic, tcx or clsact
 *   staging/                    a load under way, or what an interrupted one left
 *
 * A load collects everything in staging/ and then renames it into place, so that
 * one that is killed leaves nothing behind that counts.
 */
#ifndef STEPWISE_PINS_H
#define STEPWISE_PINS_H

#include <stdbool.h>
#include <limits.h>

#include "stepwise.h"

/* Must come first; reads the environment. */
int pins_open(const struct stepwise_protocol *protocol);

/* <bpffs>/stepwise/<protocol> */
const char *pins_base(void);

/* Formats a path below pins_base() into a PATH_MAX buffer. */
__attribute__((format(printf, 2, 3))) int pins_path(char path[PATH_MAX], const char *format, ...);

/* Directory of run state: $STEPWISE_RUN, or /run/stepwise. */
const char *run_directory(void);
__attribute__((format(printf, 2, 3))) int run_path(char path[PATH_MAX], const char *format, ...);
int run_directory_make(void);

/*
 * Makes the base directory, mounting the BPF file system where there is none: only
 * where the mount stays, not in the private mounts of one command.
 */
int pins_make_base(void);

enum pins_hold {
	PINS_SHARED,
	PINS_EXCLUSIVE,
};

/*
 * Keeps other commands off the pins until the descriptor that is returned is
 * closed. -ENOENT, without a message, where the base directory does not exist.
 */
int pins_hold(enum pins_hold how);

bool pins_exist(const char *path);
int pins_make_directory(const char *path);

/* Removes a file, or a directory with everything in it; what does not exist is removed already. */
int pins_remove(const char *path);

#endif
