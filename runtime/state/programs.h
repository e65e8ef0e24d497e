/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The compiled object of a protocol in the kernel: its maps and programs, new or from the pins. */
#ifndef STEPWISE_PROGRAMS_H
#define STEPWISE_PROGRAMS_H

#include "stepwise.h"

struct bpf_object;

/* Pins in build/ of the maps in stepwise_addresses.h. */
#define ADDRESSES_MAP "stepwise_addresses"
#define ADDRESS_SLOTS_PIN "stepwise_address_slots"

/*
 * Hash of the compiled object and its layout. Programs of two builds never work on the same tables.
 */
__u64 build_identity(const struct stepwise_protocol *protocol);

/* Total memory of all tables, in bytes. */
__u64 tables_bytes(const struct stepwise_protocol *protocol);

enum pinned_identity {
	PINNED_NOTHING,
	PINNED_OTHER,
	PINNED_SAME,
};

/*
 * Compares a pinned one-element array with `identity`. `found` gets the element. Returns a negative
 * errno after a message.
 */
int pinned_identity(const char *pin, __u64 identity, __u64 *found);

/*
 * Pins a one-element array with the number at staging/<name>. Returns 0, or a negative errno after
 * a message.
 */
int pin_number(const char *name, __u64 number);

/* The programs to attach. */
struct loaded_programs {
	struct bpf_object *object; /* NULL if they are from the pins */
	int xdp_fd;
	int tc_fd; /* -1 if nothing is completed */
};

/*
 * Open by name a pinned program of a load, or a pinned map other than the tables. Return a negative
 * errno after a message.
 */
int open_pinned_program(const char *name);
int open_pinned_map(const char *name);

/*
 * Sets the only element, a number, of such a map. Returns 0, or a negative errno after a message.
 */
int set_pinned_number(const char *map, __u64 number);

/* Opens programs of this very build, which an earlier load pinned. */
int programs_from_pins(const struct stepwise_protocol *protocol, struct loaded_programs *programs);

/*
 * Loads the object and pins everything under staging/. Reuses the tables that are pinned in state/
 * if `reuse` says that check_pinned_layout() found them. If it makes new tables, `first` says that
 * no client can rely on promises of earlier ones. `seed` is the seed of the tables: see
 * seed_choose().
 */
int programs_load(const struct stepwise_protocol *protocol, bool reuse,
		  const struct stepwise_seed *seed, bool first, struct loaded_programs *programs);

void programs_close(struct loaded_programs *programs);

/*
 * Refuses pinned tables of another layout, with a sentence. Returns 1 if there are some of this
 * layout, 0 if there are none.
 */
int check_pinned_layout(const struct stepwise_protocol *protocol);

#endif
