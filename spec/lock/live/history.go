// Package protocol: what concurrent clients of the lock protocol may see of one
// lock id. harness/histories is built together with this file.
//
//	acquire  argument Shared or Exclusive, outcome Granted or Rejected
//	release  outcome Released, or none where no answer came
//	expire   the client's lease ended, at the earliest at the call: a release
//	         of all it has
package protocol

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"stepwise/histories/history"
)

// Model keeps the mode and who has how many shares, as text: "Shared 3:1 7:2".
// A lock without a share is "Free". What is had exclusively stays so until the
// last share is given back.
var Model = history.Model{Matters: matters, Initial: "Free", Step: step}

// A rejection is always allowed: lock ids share cells. An acquire without an
// answer may have had no effect, which allows the others the most.
func matters(record history.Record) bool {
	return record.Outcome != "Rejected" && !(record.Operation == "acquire" && record.Return == history.Never)
}

func step(state string, record history.Record) (bool, string) {
	mode, shares := parse(state)
	switch record.Operation {
	case "acquire":
		return acquire(mode, shares, record)
	case "release":
		if shares[record.Client] == 0 {
			return record.Return == history.Never, state // the lease may have ended first
		}
		shares[record.Client]--
	case "expire":
		shares[record.Client] = 0
	default:
		return false, state
	}
	return true, format(mode, shares)
}

func acquire(mode string, shares map[int]int, record history.Record) (bool, string) {
	alone := true
	for client, count := range shares {
		alone = alone && (count == 0 || client == record.Client)
	}
	switch {
	case record.Outcome != "Granted":
		return false, ""
	case !alone && (mode == "Exclusive" || record.Argument == "Exclusive"):
		return false, ""
	case mode == "Exclusive" || record.Argument == "Exclusive":
		mode = "Exclusive"
	case record.Argument == "Shared":
		mode = "Shared"
	default:
		return false, ""
	}
	shares[record.Client]++
	return true, format(mode, shares)
}

func parse(state string) (string, map[int]int) {
	words := strings.Fields(state)
	shares := make(map[int]int)
	for _, word := range words[1:] {
		client, count, _ := strings.Cut(word, ":")
		number, _ := strconv.Atoi(client)
		shares[number], _ = strconv.Atoi(count)
	}
	return words[0], shares
}

// format is the same for equal states: clients in order, none without a share.
func format(mode string, shares map[int]int) string {
	clients := make([]int, 0, len(shares))
	for client, count := range shares {
		if count > 0 {
			clients = append(clients, client)
		}
	}
	if len(clients) == 0 {
		return "Free"
	}
	sort.Ints(clients)
	var text strings.Builder
	text.WriteString(mode)
	for _, client := range clients {
		fmt.Fprintf(&text, " %d:%d", client, shares[client])
	}
	return text.String()
}
