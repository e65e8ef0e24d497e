// Package protocol: what concurrent clients of the store may see of one key.
// harness/histories is built together with this file.
//
//	get     outcome Value:VERSION with the value's digest as argument, or Missing
//	insert  argument the value's digest, outcome Inserted:VERSION, Exists:VERSION, or none
//	update  argument the value's digest, outcome Updated:VERSION, Absent, or none
//	delete  outcome Deleted:VERSION, Absent, or none
//
// A write with no outcome was executed between its call and its return, or not
// at all. NoRoom and TooLong are allowed at any time, and change nothing.
package protocol

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"stepwise/histories/history"
)

// Model keeps what the key may be, as text: one word for each possibility,
// several where a write may or may not have been executed. See possibility.
var Model = history.Model{Matters: matters, Initial: possibility{}.String(), Step: step}

// possibility is one thing that the key may be. Versions go up by one with an
// update, and by one or more with an insert: those that were deleted from the
// same bucket count as well.
type possibility struct {
	there   bool
	value   string // its digest
	version int64  // of what is there, or was last
	exact   bool   // otherwise the version is that or a later one
}

func matters(record history.Record) bool {
	kind, _ := parseOutcome(record.Outcome)
	return kind != "NoRoom" && kind != "TooLong" && !(record.Operation == "get" && kind == history.None)
}

func step(state string, record history.Record) (bool, string) {
	kind, version := parseOutcome(record.Outcome)
	next := make(map[string]bool)
	for _, word := range strings.Fields(state) {
		before := parsePossibility(word)
		if kind == history.None {
			next[before.String()] = true
			if after, changed := before.written(record); changed {
				next[after.String()] = true
			}
		} else if after, allowed := before.answered(record, kind, version); allowed {
			next[after.String()] = true
		}
	}
	return len(next) > 0, join(next)
}

// written is what a write makes of the key that nobody was told of; false where it changes nothing.
func (key possibility) written(record history.Record) (possibility, bool) {
	switch {
	case record.Operation == "insert" && !key.there:
		return possibility{true, record.Argument, key.version + 1, false}, true
	case record.Operation == "update" && key.there:
		return possibility{true, record.Argument, key.version + 1, key.exact}, true
	case record.Operation == "delete" && key.there:
		return possibility{version: key.version}, true
	}
	return key, false
}

// answered is what the key is after an operation that was answered, and whether it can have been.
func (key possibility) answered(record history.Record, kind string, version int64) (possibility, bool) {
	here := key.there && key.mayHave(version)
	known := possibility{true, key.value, version, true}
	switch record.Operation + " " + kind {
	case "get Value":
		return known, here && key.value == record.Argument
	case "insert Exists":
		return known, here
	case "delete Deleted":
		return possibility{version: version}, here
	case "insert Inserted":
		return possibility{true, record.Argument, version, true}, !key.there && version > key.version
	case "update Updated":
		return possibility{true, record.Argument, version, true}, key.there && key.mayHave(version-1)
	case "get Missing", "update Absent", "delete Absent":
		return key, !key.there
	}
	return key, false
}

func (key possibility) mayHave(version int64) bool {
	return version == key.version || !key.exact && version > key.version
}

// String is "absent@VERSION", "VALUE@VERSION" or "VALUE@VERSION+".
func (key possibility) String() string {
	switch {
	case !key.there:
		return fmt.Sprintf("absent@%d", key.version)
	case key.exact:
		return fmt.Sprintf("%s@%d", key.value, key.version)
	default:
		return fmt.Sprintf("%s@%d+", key.value, key.version)
	}
}

func parsePossibility(word string) possibility {
	value, number, _ := strings.Cut(word, "@")
	version, err := strconv.ParseInt(strings.TrimSuffix(number, "+"), 10, 64)
	if err != nil {
		panic(fmt.Sprintf("%q is no state of a key", word))
	}
	if value == "absent" {
		return possibility{version: version}
	}
	return possibility{true, value, version, !strings.HasSuffix(number, "+")}
}

// parseOutcome gives a version of -1, which nothing has, where the outcome has none.
func parseOutcome(outcome string) (kind string, version int64) {
	kind, number, _ := strings.Cut(outcome, ":")
	version, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return kind, -1
	}
	return kind, version
}

// join is the same for equal sets.
func join(words map[string]bool) string {
	sorted := make([]string, 0, len(words))
	for word := range words {
		sorted = append(sorted, word)
	}
	sort.Strings(sorted)
	return strings.Join(sorted, " ")
}
