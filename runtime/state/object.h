/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The compiled object of a protocol in the kernel: its maps and programs, new or from the pins. */
#ifndef STEPWISE_OBJECT_H
#define STEPWISE_OBJECT_H

#include "stepwise.h"

struct bpf_object;

/* Pins in build/ of what stepwise_addresses.h tells of. */
#define ADDRESSES_MAP "stepwise_addresses"
#define ADDRESS_SLOTS_PIN "stepwise_address_slots"

/* Hash of the compiled object and its layout: programs of two builds never work on one state. */
__u64 build_identity(const struct stepwise_protocol *protocol);

/* Of memory that all tables together take. */
__u64 tables_bytes(const struct stepwise_protocol *protocol);

enum pinned_identity {
	PINNED_NOTHING,
	PINNED_OTHER,
	PINNED_SAME,
};

/* Compares a pinned one-element array with `identity`; `found` gets what it holds. Negative after a
 * message. */
int pinned_identity(const char *pin, __u64 identity, __u64 *found);

/* Pins a one-element array that holds the number at staging/<name>. 0, or a negative errno after a
 * message. */
int pin_number(const char *name, __u64 number);

/* The programs to attach. */
struct loaded_programs {
	struct bpf_object *object; /* NULL when they are from the pins */
	int xdp_fd;
	int tc_fd; /* -1 where nothing is completed */
};

/* A program that a load pinned, and a map beside the tables, by their names; negative after a
 * message. */
int open_pinned_program(const char *name);
int open_pinned_map(const char *name);

/* Sets the only element, a number, of such a map. Likewise. */
int set_pinned_number(const char *map, __u64 number);

/* Programs of this very build, pinned by an earlier load. */
int programs_from_pins(const struct stepwise_protocol *protocol, struct loaded_programs *programs);

/*
 * Loads the object and pins everything under staging/. Works on the tables that
 * are pinned in state/ when `reuse` says that check_pinned_layout() found them; where it makes
 * others, `first` says that nobody can rely on what earlier ones promised. `seed` is that of the
 * tables: see seed_choose().
 */
int programs_load(const struct stepwise_protocol *protocol, bool reuse,
		  const struct stepwise_seed *seed, bool first, struct loaded_programs *programs);

void programs_close(struct loaded_programs *programs);

/* Refuses, with a sentence, pinned tables of another layout. 1 where there are some of this one, 0
 * where there are none. */
int check_pinned_layout(const struct stepwise_protocol *protocol);

#endif
