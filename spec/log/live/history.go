// Package protocol: what concurrent clients may see of one log in one epoch.
// harness/histories is built together with this file.
//
//	append  argument the record, outcome Appended:NUMBER or Stored:NUMBER
//
// Records have the numbers that follow one another, in an order in which what
// ended before another began comes first. Full is allowed at any time, and
// appends nothing. What was never answered is in the history with the number
// that the files have of it, or is not: see recovery.py.
package protocol

import (
	"strconv"
	"strings"

	"stepwise/histories/history"
)

// Model keeps the last number that was given. A history need not begin with
// the first of its log: others may have appended before.
var Model = history.Model{Matters: matters, Initial: "", Step: step}

func matters(record history.Record) bool {
	return record.Outcome != "Full" && record.Outcome != history.None
}

func step(state string, record history.Record) (bool, string) {
	kind, number, _ := strings.Cut(record.Outcome, ":")
	given, err := strconv.ParseInt(number, 10, 64)
	if err != nil || record.Operation != "append" || (kind != "Appended" && kind != "Stored") {
		return false, state
	}
	if state == "" {
		return true, number
	}
	last, err := strconv.ParseInt(state, 10, 64)
	return err == nil && given == last+1, number
}
