// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Asks for the locks in its arguments, all at once, and prints the messages in which they go, a
 * line each: the locks, each with its number in the order of the arguments. With `-` in place of a
 * lock, a message is taken before the next is asked for.
 */
#include <stdio.h>
#include <string.h>

#include "workload.h"

#define GATHERING_MAX LOCK_OPERATIONS_MAX
#define GATHERING_KEY(operation) ((operation)->lock)
#include "session_gathering.h"

_Noreturn void load_refuse(const char *reason)
{
	fprintf(stderr, "%s\n", reason);
	exit(1);
}

static void print_next(struct gathering *gathering)
{
	struct lock_message operations[GATHERING_MAX];
	unsigned int count = gathering_take(gathering, operations);

	for (unsigned int i = 0; i < count; i++)
		printf("%s%llu:%u", i ? " " : "", operations[i].lock, operations[i].entry);
	putchar('\n');
}

int main(int argc, char **argv)
{
	struct gathering gathering = {};

	for (int i = 1; i < argc; i++) {
		struct lock_message asked = { .entry = i - 1 };

		if (strcmp(argv[i], "-") == 0) {
			print_next(&gathering);
			continue;
		}
		asked.lock = strtoull(argv[i], NULL, 10);
		if (!gathering_ask(&gathering, &asked))
			load_refuse("no memory");
	}
	while (gathering.first < gathering.end)
		print_next(&gathering);
	free(gathering.asked);
	return 0;
}
