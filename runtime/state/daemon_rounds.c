/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "state/daemon_claim.h"
#include "state/daemon_rounds.h"

/* Much longer than a round: a batch of each endpoint, and a chunk of a sweep. */
#define AWAIT_NS_MAX 2000000000ull
#define LOOK_NS 1000000

/* The whole claim. Its text comes first. */
struct daemon_rounds {
	char text[DAEMON_CLAIM_TEXT_BYTES];
	__u64 begun;
	__u64 ended; /* number of the last round that has ended */
};

/* The counters start at zero, because rewriting the text discarded those of an earlier daemon. */
struct daemon_rounds *daemon_rounds_open(int claim_fd)
{
	struct daemon_rounds *rounds = MAP_FAILED;

	if (ftruncate(claim_fd, sizeof(*rounds)) == 0)
		rounds = mmap(NULL, sizeof(*rounds), PROT_READ | PROT_WRITE, MAP_SHARED, claim_fd,
			      0);
	if (rounds == MAP_FAILED) {
		log_error("cannot count rounds in the claim of the daemon: %s", strerror(errno));
		return NULL;
	}
	return rounds;
}

void daemon_rounds_close(struct daemon_rounds *rounds)
{
	if (rounds)
		munmap(rounds, sizeof(*rounds));
}

/* Comes before the round reads anything. A plain store could become visible after such a read. */
void daemon_rounds_begin(struct daemon_rounds *rounds)
{
	__atomic_fetch_add(&rounds->begun, 1, __ATOMIC_SEQ_CST);
}

void daemon_rounds_end(struct daemon_rounds *rounds)
{
	__atomic_store_n(&rounds->ended, rounds->begun, __ATOMIC_RELEASE);
}

static struct daemon_rounds *map_claim(const struct stepwise_protocol *protocol)
{
	const int fd = daemon_claim_open(protocol);
	struct daemon_rounds *rounds = MAP_FAILED;
	struct stat status;

	if (fd >= 0 && fstat(fd, &status) == 0 && status.st_size >= (off_t)sizeof(*rounds))
		rounds = mmap(NULL, sizeof(*rounds), PROT_READ, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	return rounds == MAP_FAILED ? NULL : rounds;
}

static bool await_end(const struct stepwise_protocol *protocol, const struct daemon_rounds *rounds)
{
	const __u64 awaited = __atomic_load_n(&rounds->begun, __ATOMIC_SEQ_CST),
		    deadline = clock_now_ns() + AWAIT_NS_MAX;

	while (__atomic_load_n(&rounds->ended, __ATOMIC_ACQUIRE) < awaited &&
	       daemon_running(protocol, NULL)) {
		if (clock_now_ns() > deadline)
			return false;
		nanosleep(&(struct timespec){ .tv_nsec = LOOK_NS }, NULL);
	}
	return true;
}

int daemon_rounds_await(const struct stepwise_protocol *protocol)
{
	const pid_t pid = daemon_running(protocol, NULL);
	struct daemon_rounds *rounds;
	bool ended;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	rounds = pid ? map_claim(protocol) : NULL;
	ended = !rounds || await_end(protocol, rounds);
	daemon_rounds_close(rounds);
	if (ended)
		return 0;
	log_error(
		"cannot wait for the daemon of %s (pid %d): it has worked on one batch for %llu s, and its replies must not leave before TC commits them; stop it first",
		protocol->name, (int)pid, AWAIT_NS_MAX / 1000000000);
	return -ETIMEDOUT;
}
