/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Names for what bench.py counts in: the parameters of a workload, and the outcomes, in its order.
 */
#ifndef LOCK_BENCH_NAMES_H
#define LOCK_BENCH_NAMES_H

enum {
	BENCH_LOCKS,
	BENCH_OWN,
	BENCH_SHARED_OF_256
};
enum {
	BENCH_GRANTED,
	BENCH_REJECTED,
	BENCH_RELEASED,
	BENCH_LEFT_ALONE,
	BENCH_OTHER
};

#endif
