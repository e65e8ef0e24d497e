/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Reports a fault that an input has, in the words that ../parsers/run.py looks for. */
#ifndef READERS_HOLDS_H
#define READERS_HOLDS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t size_max);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_max, unsigned int seed);

static inline void check(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "parsers: this does not hold: %s\n", what);
	abort();
}

#endif
