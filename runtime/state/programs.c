/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/log.h"
#include "base/operator_hint.h"
#include "state/birth.h"
#include "state/diagnose.h"
#include "state/peers_key.h"
#include "state/pins.h"
#include "state/programs.h"
#include "state/seed.h"
#include "stepwise_addresses.h"

#define SOCKETS_MAP "stepwise_sockets"
#define PROGRAMS_MAP "stepwise_programs"

/*
 * Maps by which programs forward to the daemon, recognise its packets, and find the interfaces that
 * look ahead, and the program that another one continues in. (The kernel empties that map when
 * nobody has it open and it is not pinned.) Each is only in an object that uses it.
 */
static const char *const daemon_maps[] = {
	SOCKETS_MAP,	  "stepwise_ring",   "stepwise_ring_limits",
	"stepwise_alive", "stepwise_sender", "stepwise_devices",
	PROGRAMS_MAP
};

__u64 build_identity(const struct stepwise_protocol *protocol)
{
	const unsigned char *bytes;
	__u64 hash = 0xcbf29ce484222325 ^ protocol->layout_id; /* FNV-1a */
	size_t size = 0;

	bytes = protocol->object(&size);
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3;
	return hash;
}

__u64 tables_bytes(const struct stepwise_protocol *protocol)
{
	__u64 bytes = 0;

	/* The kernel rounds elements up to 8 bytes. */
	for (__u32 i = 0; i < protocol->table_count; i++)
		bytes += (__u64)protocol->tables[i].capacity *
			 ((protocol->tables[i].element_size + 7) / 8 * 8);
	return bytes;
}

int pinned_identity(const char *pin, __u64 identity, __u64 *found)
{
	__u32 key = 0;
	int fd = bpf_obj_get(pin);
	int err;

	if (fd == -ENOENT)
		return PINNED_NOTHING;
	err = fd < 0 ? fd : bpf_map_lookup_elem(fd, &key, found);
	if (fd >= 0)
		close(fd);
	if (err) {
		log_error("cannot read %s: %s; run this as root", pin, strerror(-err));
		return err;
	}
	return *found == identity ? PINNED_SAME : PINNED_OTHER;
}

int check_pinned_layout(const struct stepwise_protocol *protocol)
{
	char path[PATH_MAX];
	__u64 found = 0;
	int pinned;

	pinned = pins_path(path, "state/layout");
	if (pinned)
		return pinned;
	pinned = pinned_identity(path, protocol->layout_id, &found);
	if (pinned == PINNED_OTHER) {
		log_error(
			"the tables pinned in %s/state are of another layout (%016llx, this build's is %016llx): use the build that made them, or unload every interface and run `%s`, which removes their content",
			pins_base(), (unsigned long long)found,
			(unsigned long long)protocol->layout_id, operator_hint("purge", ""));
		return -EMEDIUMTYPE;
	}
	return pinned < 0 ? pinned : pinned == PINNED_SAME;
}

int pin_number(const char *name, __u64 number)
{
	char path[PATH_MAX];
	__u32 key = 0;
	int err, fd;

	err = pins_path(path, "staging/%s", name);
	if (err)
		return err;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "number", sizeof(key), sizeof(number), 1, NULL);
	err = fd < 0 ? fd : bpf_map_update_elem(fd, &key, &number, BPF_ANY);
	if (!err)
		err = bpf_obj_pin(fd, path);
	if (err)
		log_error("cannot pin %s: %s", path, strerror(-err));
	if (fd >= 0)
		close(fd);
	return err;
}

/* The layout's identity says that a pinned table fits. This checks what the kernel says. */
static int check_reused_table(const struct stepwise_table *table, const struct bpf_map *map, int fd,
			      const char *path)
{
	struct bpf_map_info info = {};
	__u32 size = sizeof(info);
	int err = bpf_obj_get_info_by_fd(fd, &info, &size);

	if (!err && info.type == bpf_map__type(map) && info.value_size == table->element_size &&
	    info.max_entries == table->capacity && info.map_flags == bpf_map__map_flags(map))
		return 0;
	log_error(
		"cannot use the pinned table %s: it does not have the layout that its pin records; run `%s`",
		path, operator_hint("purge", ""));
	return err ? err : -EMEDIUMTYPE;
}

static int set_table(const struct stepwise_protocol *protocol, const struct stepwise_table *table,
		     struct bpf_object *object, bool reuse)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, table->name);
	char path[PATH_MAX];
	int err, fd;

	if (!map || bpf_map__value_size(map) != table->element_size) {
		log_error(
			"the object and the descriptor of %s disagree on table %s: generate and build again",
			protocol->name, table->name);
		return -EINVAL;
	}
	err = bpf_map__set_max_entries(map, table->capacity);
	if (err || !reuse)
		return err;

	err = pins_path(path, "state/tables/%s", table->name);
	if (err)
		return err;
	fd = bpf_obj_get(path);
	if (fd < 0) {
		log_error("cannot open the pinned table %s: %s", path, strerror(-fd));
		return fd;
	}
	err = check_reused_table(table, map, fd, path);
	if (!err)
		err = bpf_map__reuse_fd(map, fd);
	close(fd);
	return err;
}

/*
 * A kernel without AF_XDP has no map type for its sockets. Use another type that a program can
 * redirect by. The map stays empty, and packets go by the ring buffer.
 */
static int set_sockets(struct bpf_object *object)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, SOCKETS_MAP);

	if (!map || libbpf_probe_bpf_map_type(BPF_MAP_TYPE_XSKMAP, NULL))
		return 0;
	return bpf_map__set_type(map, BPF_MAP_TYPE_DEVMAP);
}

/* The seed is a constant of the programs, like any other to the verifier. */
static int set_seed(const struct stepwise_protocol *protocol, struct bpf_object *object,
		    const struct stepwise_seed *seed)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, STEPWISE_SEED_SECTION);
	int err;

	if (!protocol->seed)
		return 0;
	err = map ? bpf_map__set_initial_value(map, seed, sizeof(*seed)) : -ENOENT;
	if (err)
		log_error(
			"the object and the descriptor of %s disagree on the seed of its hashes: generate and build again",
			protocol->name);
	return err;
}

static int make_staging_directories(bool with_state)
{
	static const char *const names[] = { "build", "build/programs", "state", "state/tables" };
	char path[PATH_MAX];
	int err = 0;

	for (size_t i = 0; !err && i < (with_state ? 4 : 2); i++) {
		err = pins_path(path, "staging/%s", names[i]);
		if (!err)
			err = pins_make_directory(path);
	}
	return err;
}

/* Lets the xdp program continue in the one for messages with operations, if there is one. */
static int set_programs(const struct stepwise_protocol *protocol, struct bpf_object *object)
{
	const __u32 key = 0;
	__u32 program;
	int err;

	if (!protocol->gathered_program)
		return 0;
	program = (__u32)bpf_program__fd(
		bpf_object__find_program_by_name(object, protocol->gathered_program));
	err = bpf_map_update_elem(bpf_object__find_map_fd_by_name(object, PROGRAMS_MAP), &key,
				  &program, BPF_ANY);
	if (err)
		log_error("cannot enter program %s into %s: %s", protocol->gathered_program,
			  PROGRAMS_MAP, strerror(-err));
	return err;
}

/* `pin` is the path under staging/. */
static int pin_map_at(struct bpf_object *object, const char *name, const char *pin)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, name);
	char path[PATH_MAX];
	int err;

	err = pins_path(path, "staging/%s", pin);
	if (err)
		return err;
	err = map ? bpf_obj_pin(bpf_map__fd(map), path) : -ENOENT;
	if (err)
		log_error("cannot pin map %s at %s: %s", name, path, strerror(-err));
	return err;
}

static int pin_map(struct bpf_object *object, const char *name, const char *directory)
{
	char pin[PATH_MAX];

	if (snprintf(pin, sizeof(pin), "%s%s", directory, name) >= PATH_MAX)
		return -ENAMETOOLONG;
	return pin_map_at(object, name, pin);
}

/* The BPF file system does not allow a dot, which a section's name contains. */
static int pin_addresses(const struct stepwise_protocol *protocol, struct bpf_object *object)
{
	int err;

	if (!protocol->compares_addresses)
		return 0;
	err = pin_map(object, ADDRESSES_MAP, "build/");
	return err ? err :
		     pin_map_at(object, STEPWISE_ADDRESS_SLOTS_SECTION, "build/" ADDRESS_SLOTS_PIN);
}

/*
 * Pins everything that outlives the programs: the tables, and what they depend on. For `first`, see
 * programs_load().
 */
static int pin_state(const struct stepwise_protocol *protocol, struct bpf_object *object,
		     const struct stepwise_seed *seed, bool first)
{
	char path[PATH_MAX];
	int err = 0;

	for (__u32 i = 0; !err && i < protocol->table_count; i++)
		err = pin_map(object, protocol->tables[i].name, "state/tables/");
	if (!err && protocol->seed)
		err = pins_path(path, "staging/state/seed") ?: seed_pin(path, seed);
	if (!err && protocol->tells_peers)
		err = pins_path(path, "staging/state/key") ?: peers_key_pin(path);
	if (!err)
		err = birth_pin(first);
	return err ? err : pin_number("state/layout", protocol->layout_id);
}

/* Pins the maps other than the tables. */
static int pin_maps(const struct stepwise_protocol *protocol, struct bpf_object *object)
{
	int err = pin_map(object, "counters", "build/");

	for (size_t i = 0; !err && i < sizeof(daemon_maps) / sizeof(daemon_maps[0]); i++)
		if (bpf_object__find_map_by_name(object, daemon_maps[i]))
			err = pin_map(object, daemon_maps[i], "build/");
	return err ? err : pin_addresses(protocol, object);
}

static int pin_programs(struct bpf_object *object)
{
	struct bpf_program *program;
	char path[PATH_MAX];
	int err;

	bpf_object__for_each_program(program, object) {
		err = pins_path(path, "staging/build/programs/%s", bpf_program__name(program));
		if (err)
			return err;
		err = bpf_obj_pin(bpf_program__fd(program), path);
		if (err) {
			log_error("cannot pin program %s: %s", path, strerror(-err));
			return err;
		}
	}
	return 0;
}

/*
 * `seed` is the seed of new tables, and is pinned too. It is NULL if the tables are pinned already.
 */
static int pin_everything(const struct stepwise_protocol *protocol, struct bpf_object *object,
			  const struct stepwise_seed *seed, bool first)
{
	int err = make_staging_directories(seed);

	if (!err && seed)
		err = pin_state(protocol, object, seed, first);
	if (err)
		return err;
	err = pin_number("build/identity", build_identity(protocol));
	if (err)
		return err;
	return pin_maps(protocol, object) ?: pin_programs(object);
}

static int program_fd(const struct stepwise_protocol *protocol, struct bpf_object *object,
		      const char *name)
{
	struct bpf_program *program = bpf_object__find_program_by_name(object, name);

	if (program)
		return bpf_program__fd(program);
	log_error(
		"the object and the descriptor of %s disagree on program %s: generate and build again",
		protocol->name, name);
	return -EINVAL;
}

/* Returns 0 if the system does not report it. */
static __u64 available_bytes(void)
{
	unsigned long long available_kib = 0;
	FILE *file = fopen("/proc/meminfo", "r");
	char line[128];

	while (file && !available_kib && fgets(line, sizeof(line), file))
		if (sscanf(line, "MemAvailable: %llu kB", &available_kib) != 1)
			available_kib = 0;
	if (file)
		fclose(file);
	return available_kib << 10;
}

/*
 * Checks that the tables fit the available memory. The kernel allocates a table all at once, and
 * would starve all other processes before it found that there is too little.
 */
static int check_memory(const struct stepwise_protocol *protocol)
{
	__u64 available = available_bytes(), bytes = tables_bytes(protocol);

	if (!available || bytes <= available)
		return 0;
	log_error(
		"cannot load %s: its tables need %llu MiB, but only %llu MiB of memory are available; lower their `capacity` in the layout, or generate with an --override that does",
		protocol->name, (unsigned long long)(bytes >> 20),
		(unsigned long long)(available >> 20));
	return -ENOMEM;
}

int programs_load(const struct stepwise_protocol *protocol, bool reuse,
		  const struct stepwise_seed *seed, bool first, struct loaded_programs *programs)
{
	DECLARE_LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = protocol->name);
	struct bpf_object *object;
	struct verifier_logs logs = {};
	size_t size;
	int err;
	const void *bytes = protocol->object(&size);

	programs->xdp_fd = programs->tc_fd = -1;
	err = reuse ? 0 : check_memory(protocol);
	if (err)
		return err;
	object = bpf_object__open_mem(bytes, size, &options);
	if (!object) {
		err = -errno;
		log_error(
			"cannot open the compiled object of %s: %s; build it again (--verbose shows libbpf's messages)",
			protocol->name, strerror(-err));
		return err;
	}
	programs->object = object;
	for (__u32 i = 0; i < protocol->table_count; i++) {
		err = set_table(protocol, &protocol->tables[i], object, reuse);
		if (err)
			goto cleanup;
	}
	err = set_seed(protocol, object, seed) ?: set_sockets(object);
	if (err)
		goto cleanup;
	err = verifier_logs_open(&logs, object);
	if (err)
		goto cleanup;
	err = bpf_object__load(object);
	if (err) {
		explain_load_failure(protocol, object, &logs, err);
		/*
		 * The verifier also returns this for a program that reaches too far. It does not
		 * mean that this process lacks a permission.
		 */
		err = err == -EACCES ? -ENOEXEC : err;
		goto cleanup;
	}
	err = set_programs(protocol, object) ?:
		      pin_everything(protocol, object, reuse ? NULL : seed, first);
	if (err)
		goto cleanup;
	programs->xdp_fd = program_fd(protocol, object, protocol->xdp_program);
	if (protocol->tc_program)
		programs->tc_fd = program_fd(protocol, object, protocol->tc_program);
	if (programs->xdp_fd < 0 || (protocol->tc_program && programs->tc_fd < 0))
		err = -EINVAL;
cleanup:
	verifier_logs_close(&logs);
	return err;
}

static int open_pinned(const char *kind, const char *directory, const char *name)
{
	char path[PATH_MAX];
	int fd = pins_path(path, "build/%s%s", directory, name);

	if (fd)
		return fd;
	fd = bpf_obj_get(path);
	if (fd < 0)
		log_error(
			"cannot open the pinned %s %s: %s; run this as root, or unload every interface, purge and load again",
			kind, path, strerror(-fd));
	return fd;
}

int open_pinned_program(const char *name)
{
	return open_pinned("program", "programs/", name);
}

int open_pinned_map(const char *name)
{
	return open_pinned("map", "", name);
}

int set_pinned_number(const char *map, __u64 number)
{
	const __u32 key = 0;
	int fd = open_pinned_map(map);
	int err = fd < 0 ? fd : bpf_map_update_elem(fd, &key, &number, BPF_ANY);

	if (fd >= 0 && err)
		log_error("cannot write to the pinned map %s: %s; run serve as root", map,
			  strerror(-err));
	if (fd >= 0)
		close(fd);
	return err;
}

int programs_from_pins(const struct stepwise_protocol *protocol, struct loaded_programs *programs)
{
	programs->object = NULL;
	programs->tc_fd = -1;
	programs->xdp_fd = open_pinned_program(protocol->xdp_program);
	if (programs->xdp_fd < 0)
		return programs->xdp_fd;
	if (!protocol->tc_program)
		return 0;
	programs->tc_fd = open_pinned_program(protocol->tc_program);
	return programs->tc_fd < 0 ? programs->tc_fd : 0;
}

void programs_close(struct loaded_programs *programs)
{
	if (programs->object) {
		bpf_object__close(programs->object);
		return;
	}
	if (programs->xdp_fd >= 0)
		close(programs->xdp_fd);
	if (programs->tc_fd >= 0)
		close(programs->tc_fd);
}
