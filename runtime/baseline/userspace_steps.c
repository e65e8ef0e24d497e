/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "base/frozen.h"
#include "base/peers.h"
#include "baseline/userspace_steps.h"
#include "bpf/stepwise_spin.h"

#define TABLES_MAX 64

static const struct stepwise_protocol *const protocol = &stepwise_protocol;
static void *memory[TABLES_MAX];
static bool read_cell(const struct stepwise_tables *opened, unsigned int table, __u32 index,
		      void *element);
static void *cell(const struct stepwise_tables *opened, unsigned int table, __u32 index);
static struct peers_key key;
static const struct stepwise_tables tables = { .memory = memory,
					       .read_cell = read_cell,
					       .cell = cell };

/*
 * The daemon is a single thread, so the handler assumes that nobody else changes the cells that it
 * steps.
 */
static pthread_mutex_t handler_guard = PTHREAD_MUTEX_INITIALIZER;
static bool handler_steps;

/*
 * For a protocol with a drain: guards the room for a batch of one lane. The thread that holds it
 * drains for all.
 */
static pthread_mutex_t drain_guard = PTHREAD_MUTEX_INITIALIZER;
static unsigned char *drained;

/*
 * The steps keep the plain seed, so that all compared servers have the same keys in the same cells.
 */
static int allocate_tables(void)
{
	if (protocol->table_count > TABLES_MAX)
		return -E2BIG;
	for (__u32 i = 0; i < protocol->table_count; i++) {
		size_t size =
			(size_t)protocol->tables[i].capacity * protocol->tables[i].element_size;

		handler_steps |= protocol->tables[i].user_reads == STEPWISE_USER_STEPS;
		memory[i] = mmap(NULL, size, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (memory[i] == MAP_FAILED)
			return -errno;
	}
	return 0;
}

static bool read_cell(const struct stepwise_tables *opened, unsigned int table, __u32 index,
		      void *element)
{
	const struct stepwise_table *read = &protocol->tables[table];
	unsigned char *from =
		(unsigned char *)opened->memory[table] + (size_t)index * read->element_size;
	unsigned char *guard = from + read->guard_offset;

	if (index >= read->capacity)
		return false;
	if (read->mmapable) {
		*(__u64 *)element = __atomic_load_n((const __u64 *)from, __ATOMIC_RELAXED);
		return true;
	}
	stepwise_lock_word((__u32 *)guard);
	memcpy(element, from, read->element_size);
	stepwise_unlock_word((__u32 *)guard);
	memset((unsigned char *)element + read->guard_offset, 0, sizeof(__u32));
	return true;
}

static void *cell(const struct stepwise_tables *opened, unsigned int table, __u32 index)
{
	const struct stepwise_table *stepped = &protocol->tables[table];

	return index < stepped->capacity ? (unsigned char *)opened->memory[table] +
						   (size_t)index * stepped->element_size :
					   NULL;
}

static int begin_drain(void)
{
	const struct stepwise_drain *drain = protocol->drain;

	if (!drain)
		return 0;
	drained = malloc((size_t)drain->batch * drain->entries->size);
	for (__u32 section = 0; section < drain->begins_count; section++)
		for (__u32 lane = 0; lane < drain->entries->lanes; lane++)
			drain->begins(&tables, section,
				      &(struct stepwise_place){ .epoch = 1, .lane = lane });
	return drained ? 0 : -ENOMEM;
}

void userspace_steps_drain(void)
{
	const struct stepwise_drain *drain = protocol->drain;

	if (!drain || pthread_mutex_trylock(&drain_guard))
		return;
	for (__u32 lane = 0; lane < drain->entries->lanes; lane++) {
		const __u32 count =
			drain->take(&tables, lane, drained, drain->entries->size, drain->batch);
		struct stepwise_place last;

		if (!count)
			continue;
		drain->entries->place(drained + (size_t)(count - 1) * drain->entries->size, &last);
		drain->written(&tables, &last);
		drain->synced(&tables, &last);
	}
	pthread_mutex_unlock(&drain_guard);
}

static enum stepwise_verdict handle(const struct stepwise_environment *environment,
				    unsigned char *payload, size_t *size)
{
	enum stepwise_verdict verdict;

	if (!handler_steps)
		return protocol->on_forwarded(&tables, environment, payload, size);
	pthread_mutex_lock(&handler_guard);
	verdict = protocol->on_forwarded(&tables, environment, payload, size);
	pthread_mutex_unlock(&handler_guard);
	return verdict;
}

static bool surround(const struct in6_addr *source, const unsigned char *payload,
		     struct stepwise_environment *environment)
{
	__u32 nonce;

	if (getrandom(&environment->random, sizeof(environment->random), 0) < 0 ||
	    getrandom(&nonce, sizeof(nonce), 0) < 0)
		return false;
	peers_tell(protocol, &key, source, nonce, payload, environment);
	return true;
}

bool userspace_steps_decide(const struct in6_addr *source, unsigned char *payload, size_t *size,
			    struct stepwise_environment *environment)
{
	enum stepwise_verdict verdict;

	if (*size < protocol->wire_size || *size - protocol->wire_size > protocol->tail_max)
		return false;
	verdict = protocol->run_xdp(&tables, environment, payload, size);
	if (verdict != STEPWISE_FORWARD)
		return verdict == STEPWISE_REPLY;
	if (!protocol->on_forwarded || !surround(source, payload, environment))
		return false;
	verdict = handle(environment, payload, size);
	if (verdict == STEPWISE_REPLY && protocol->run_tc)
		verdict = protocol->run_tc(&tables, environment, payload, size);
	return verdict == STEPWISE_REPLY;
}

int userspace_steps_open(void)
{
	return frozen_draw("a key for the tokens of clients", &key, sizeof(key)) ?:
		       allocate_tables()					 ?:
										   begin_drain();
}

bool userspace_steps_fit(size_t payload_bytes_max)
{
	return protocol->run_xdp && protocol->wire_size + protocol->tail_max < payload_bytes_max;
}
