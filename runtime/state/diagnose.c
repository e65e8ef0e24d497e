/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "base/log.h"
#include "state/diagnose.h"
#include "state/pins.h"
#include "state/programs.h"
#include "state/run_state.h"

/* The maximum before kernel 5.2. Untouched pages cost nothing. */
#define VERIFIER_LOG_BYTES (0xffffffffu >> 8)

/* The list in linux/bpf.h contained its own commas until kernel 6.2. */
#ifdef ___BPF_FUNC_MAPPER
#define HELPER_NAME(name, ...) [BPF_FUNC_##name] = "bpf_" #name,
#else
#define HELPER_NAME(name) [BPF_FUNC_##name] = "bpf_" #name
#endif
static const char *const helper_names[] = { __BPF_FUNC_MAPPER(HELPER_NAME) };

/* Features that generated programs may use, and the first kernel that has them. */
static const struct {
	const char *name;
	const char *since;
} features[] = {
	{ "bpf_spin_lock", "5.1" },	  { "bpf_loop", "5.17" },
	{ "bpf_xdp_load_bytes", "5.18" }, { "bpf_iter_num_new", "6.4" },
	{ "bpf_res_spin_lock", "6.15" },  { "bpf_res_spin_unlock", "6.15" },
};

int verifier_logs_open(struct verifier_logs *logs, struct bpf_object *object)
{
	struct bpf_program *program;
	size_t count = 0;

	bpf_object__for_each_program(program, object)
		count++;
	/* NOLINTNEXTLINE(clang-analyzer-optin.portability.UnixAPI): an object has a program. */
	logs->buffers = calloc(count, sizeof(*logs->buffers));
	if (!logs->buffers)
		return -ENOMEM;
	bpf_object__for_each_program(program, object) {
		char *buffer = mmap(NULL, VERIFIER_LOG_BYTES, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (buffer == MAP_FAILED)
			return -errno;
		logs->buffers[logs->count++] = buffer;
		bpf_program__set_log_buf(program, buffer, VERIFIER_LOG_BYTES);
	}
	return 0;
}

void verifier_logs_close(struct verifier_logs *logs)
{
	for (size_t i = 0; i < logs->count; i++)
		munmap(logs->buffers[i], VERIFIER_LOG_BYTES);
	free(logs->buffers);
}

static void log_missing(const struct stepwise_protocol *protocol, const char *kind,
			const char *name)
{
	const char *since = NULL;
	struct utsname kernel;

	uname(&kernel);
	for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++)
		if (!strcmp(features[i].name, name))
			since = features[i].since;
	log_error(
		"cannot load %s: this kernel (%s) has no %s %s%s%s%s; boot a newer one, or choose another `atomic` in the layout and generate again",
		protocol->name, kernel.release, kind, name, since ? ", which came with " : "",
		since ? since : "", since ? "" : " for this type of program");
}

/*
 * Returns the object's BTF as it was compiled. In libbpf's copy, functions that the object only
 * declares look like its own.
 */
static struct btf *compiled_btf(const struct stepwise_protocol *protocol)
{
	const unsigned char *bytes;
	const Elf64_Shdr *sections;
	const Elf64_Ehdr *header;
	const char *names;
	size_t size = 0;

	bytes = protocol->object(&size);
	header = (const void *)bytes;
	if (size < sizeof(*header) ||
	    header->e_shoff + (size_t)header->e_shnum * sizeof(*sections) > size ||
	    header->e_shstrndx >= header->e_shnum)
		return NULL;
	sections = (const void *)(bytes + header->e_shoff);
	names = (const char *)bytes + sections[header->e_shstrndx].sh_offset;
	for (unsigned int i = 0; i < header->e_shnum; i++) {
		const Elf64_Shdr *section = &sections[i];

		if (!strcmp(names + section->sh_name, ".BTF") &&
		    section->sh_offset + section->sh_size <= size)
			return btf__new(bytes + section->sh_offset, section->sh_size);
	}
	return NULL;
}

/*
 * Returns the name of a function that the object declares but the kernel lacks; NULL if there is
 * none.
 */
static const char *missing_function(const struct btf *btf, const struct btf *kernel)
{
	for (__u32 id = 1; id < btf__type_cnt(btf); id++) {
		const struct btf_type *type = btf__type_by_id(btf, id);
		const char *name = btf__name_by_offset(btf, type->name_off);

		if (btf_is_func(type) && btf_vlen(type) == BTF_FUNC_EXTERN &&
		    btf__find_by_name_kind(kernel, name, BTF_KIND_FUNC) < 0)
			return name;
	}
	return NULL;
}

static bool explain_missing_function(const struct stepwise_protocol *protocol)
{
	struct btf *btf = compiled_btf(protocol), *kernel = NULL;
	const char *name = NULL;
	bool explained = false;

	if (!btf || btf__find_by_name_kind(btf, ".ksyms", BTF_KIND_DATASEC) < 0)
		goto cleanup;
	kernel = btf__load_vmlinux_btf();
	if (!kernel) {
		log_error(
			"cannot load %s: the kernel does not describe its functions (/sys/kernel/btf/vmlinux); boot one with CONFIG_DEBUG_INFO_BTF",
			protocol->name);
		explained = true;
		goto cleanup;
	}
	name = missing_function(btf, kernel);
	if (name) {
		log_missing(protocol, "function", name);
		explained = true;
	}
cleanup:
	btf__free(kernel);
	btf__free(btf);
	return explained;
}

static bool explain_missing_helper_of(const struct stepwise_protocol *protocol,
				      const struct bpf_program *program)
{
	const struct bpf_insn *instructions = bpf_program__insns(program);
	size_t count = bpf_program__insn_cnt(program);

	for (size_t i = 0; i < count; i++) {
		const struct bpf_insn *instruction = &instructions[i];
		__u32 id = instruction->imm;
		const char *name;
		char number[32];

		if (instruction->code != (BPF_JMP | BPF_CALL) || instruction->src_reg != 0)
			continue;
		if (libbpf_probe_bpf_helper(bpf_program__type(program), id, NULL) != 0)
			continue;
		name = id < sizeof(helper_names) / sizeof(helper_names[0]) ? helper_names[id] :
									     NULL;
		snprintf(number, sizeof(number), "number %u", id);
		log_missing(protocol, "helper", name ? name : number);
		return true;
	}
	return false;
}

static bool save_verifier_log(const struct stepwise_protocol *protocol,
			      const struct bpf_program *program, const char *log)
{
	const char *name = bpf_program__name(program);
	char path[PATH_MAX];
	FILE *file;

	if (run_directory_make() || run_path(path, "%s" VERIFIER_LOG_SUFFIX, name))
		return false;
	file = fopen(path, "w");
	if (!file || fputs(log, file) < 0) {
		log_error(
			"cannot load %s: the kernel's verifier refused program %s, and its log could not be saved to %s: %s",
			protocol->name, name, path, strerror(errno));
	} else {
		log_error(
			"cannot load %s: the kernel's verifier refused program %s; its log is in %s",
			protocol->name, name, path);
	}
	if (file)
		fclose(file);
	return true;
}

void explain_load_failure(const struct stepwise_protocol *protocol, struct bpf_object *object,
			  const struct verifier_logs *logs, int err)
{
	struct bpf_program *program;
	size_t i = 0;

	if (explain_missing_function(protocol))
		return;
	bpf_object__for_each_program(program, object)
		if (explain_missing_helper_of(protocol, program))
			return;
	bpf_object__for_each_program(program, object) {
		const char *log = logs->buffers[i++];

		if (*log && save_verifier_log(protocol, program, log))
			return;
	}
	if (err == -ENOMEM) {
		log_error(
			"cannot load %s: there is not enough memory for its tables (%llu MiB in all), or this process has a limit; lower their `capacity` in the layout, or generate with an --override that does",
			protocol->name, (unsigned long long)(tables_bytes(protocol) >> 20));
		return;
	}
	log_error("cannot load %s: %s; libbpf says: %.*s", protocol->name, strerror(-err),
		  (int)strcspn(log_libbpf_warnings(), "\n"), log_libbpf_warnings());
}
