package main

import (
	"sort"
	"time"

	"github.com/anishathalye/porcupine"

	"stepwise/histories/history"
	"stepwise/histories/protocol"
)

// chunkSize is the number of operations that are checked at a time. It is
// limited because Porcupine's memory grows with the square of a history's
// length.
const chunkSize = 500

// chunk is a stretch of a history, and a state in which it may start.
type chunk struct {
	operations []porcupine.Operation
	initial    string
}

// findings is the result of checking the operations on one key.
type findings struct {
	result     porcupine.CheckResult
	info       porcupine.LinearizationInfo
	operations []porcupine.Operation // the subject of info
}

// check judges the operations on one key, one chunk after another.
//
// A chunk stops where no operation is under way. The next chunk starts in the
// final state of one order of this chunk. Another order may have another final
// state, so the next chunk may be refused wrongly. A refused chunk is therefore
// checked again together with the chunks before it, up to the whole history. An
// operation that never returned belongs to the chunk of its call: it is allowed
// in every state, and may come last.
func check(operations []porcupine.Operation, deadline time.Time) findings {
	state := protocol.Model.Initial
	var before []chunk
	for _, next := range split(operations) {
		current := chunk{next, state}
		for {
			left := time.Until(deadline)
			if left <= 0 {
				return findings{result: porcupine.Unknown}
			}
			result, info := porcupine.CheckOperationsVerbose(model(current.initial), current.operations, left)
			if result == porcupine.Ok {
				state = finalState(current, info)
				break
			}
			if result == porcupine.Unknown || len(before) == 0 {
				return findings{result, info, current.operations}
			}
			current, before = joined(before, current)
		}
		before = append(before, current)
	}
	return findings{result: porcupine.Ok}
}

// joined puts earlier chunks before the current one, until it has at least
// doubled or none is left.
func joined(before []chunk, current chunk) (chunk, []chunk) {
	first := len(before)
	for size := 0; first > 0 && size < len(current.operations); {
		first--
		size += len(before[first].operations)
	}
	var operations []porcupine.Operation
	for _, each := range before[first:] {
		operations = append(operations, each.operations...)
	}
	return chunk{append(operations, current.operations...), before[first].initial}, before[:first]
}

// split cuts a history into chunks of at least chunkSize operations, at points
// where no operation is under way. The last chunk may be smaller.
func split(operations []porcupine.Operation) [][]porcupine.Operation {
	sort.SliceStable(operations, func(i, j int) bool { return operations[i].Call < operations[j].Call })
	var chunks [][]porcupine.Operation
	first, lastReturn := 0, int64(0)
	for i, operation := range operations {
		if i-first >= chunkSize && operation.Call > lastReturn {
			chunks = append(chunks, operations[first:i:i])
			first = i
		}
		if operation.Return != history.Never && operation.Return > lastReturn {
			lastReturn = operation.Return
		}
	}
	return append(chunks, operations[first:])
}

// finalState returns the state after the order that Porcupine found.
func finalState(current chunk, info porcupine.LinearizationInfo) string {
	state := current.initial
	for _, index := range longestOrder(info) {
		_, state = protocol.Model.Step(state, current.operations[index].Input.(history.Record))
	}
	return state
}

// longestOrder returns the longest legal order of operations that was found.
func longestOrder(info porcupine.LinearizationInfo) []int {
	longest := []int{}
	for _, orders := range info.PartialLinearizations() {
		for _, order := range orders {
			if len(order) > len(longest) {
				longest = order
			}
		}
	}
	return longest
}
