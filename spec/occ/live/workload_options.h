/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Options of the load of transactions (workload.h). */
#ifndef OCC_WORKLOAD_OPTIONS_H
#define OCC_WORKLOAD_OPTIONS_H

#include "load.h"
#include "transaction.h"

struct workload {
	__u64 keys, crowd, keys_max, writes, plain, churn, blind, long_values, deaths, impatient,
		balance, tidy, gather;
};

static const struct load_option workload_options[] = {
	{ "keys", "keys to choose from", offsetof(struct workload, keys), 1024 },
	{ "crowd", "keys that share a bucket, on average; 0: as many as it happens",
	  offsetof(struct workload, crowd), 0 },
	{ "keys_max", "of a transaction, up to 4", offsetof(struct workload, keys_max),
	  TRANSACTION_KEYS_MAX },
	{ "writes", "percentage of a transaction's keys that it writes; the others it only reads",
	  offsetof(struct workload, writes), 50 },
	{ "plain", "percentage of plain writes of the store among all that clients do",
	  offsetof(struct workload, plain), 10 },
	{ "churn", "percentage of writes that delete what is there",
	  offsetof(struct workload, churn), 10 },
	{ "blind", "percentage of written keys that are not read before",
	  offsetof(struct workload, blind), 10 },
	{ "long", "percentage of plain writes with a value that is longer than a slot",
	  offsetof(struct workload, long_values), 0 },
	{ "deaths", "of 10,000 requests within transactions, those at which the client dies",
	  offsetof(struct workload, deaths), 0 },
	{ "impatient", "percentage of requests that are given up at their first retry",
	  offsetof(struct workload, impatient), 0 },
	{ "balance",
	  "of each key in the beginning: transactions move some of it from one key to another, and nothing else is done",
	  offsetof(struct workload, balance), 0 },
	{ "tidy", "1: in the end all keys are deleted", offsetof(struct workload, tidy), 0 },
	{ "gather", "keys that a transaction asks for in one message, at most",
	  offsetof(struct workload, gather), 1 },
	{ NULL },
};

#endif
