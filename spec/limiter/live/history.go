// Package protocol: what concurrent clients of the limiter may see of one key.
// harness/histories is built together with this file.
//
//	take  argument the amount, outcome Allowed or Denied
//
// Keys share buckets, so a denial is always allowed. What is allowed may be no
// more than a bucket of its own would have had.
package protocol

import (
	"fmt"
	"strconv"

	"stepwise/histories/history"
)

// As in layout.yaml.
const (
	burst  = 1000
	rate   = 10
	tickNs = 1_048_576
)

// Model keeps the most tokens that a bucket can have had, and the earliest
// instant of the take before: "300 123456". At first the bucket is full.
var Model = history.Model{Matters: matters, Initial: fmt.Sprint(burst, " ", 0), Step: step}

func matters(record history.Record) bool {
	return record.Outcome == "Allowed"
}

func step(state string, record history.Record) (bool, string) {
	var level, earliest int64
	fmt.Sscan(state, &level, &earliest)
	amount, err := strconv.ParseInt(record.Argument, 10, 64)
	if err != nil || record.Operation != "take" {
		return false, state
	}
	// The take was executed when it returned, at the latest. The first of the ticks in between need not be a whole one.
	if passed := record.Return - earliest; passed > 0 {
		level += rate * (passed/tickNs + 1)
	}
	if level > burst {
		level = burst
	}
	if amount > level {
		return false, state
	}
	// Before its call it was not.
	if record.Call > earliest {
		earliest = record.Call
	}
	return true, fmt.Sprint(level-amount, " ", earliest)
}
