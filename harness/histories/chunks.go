package main

import (
	"sort"
	"time"

	"github.com/anishathalye/porcupine"

	"stepwise/histories/history"
	"stepwise/histories/protocol"
)

// chunkSize is how many operations are checked at a time: what Porcupine
// remembers grows with the square of a history's length.
const chunkSize = 500

// chunk is a stretch of a history, and a state that it may begin in.
type chunk struct {
	operations []porcupine.Operation
	initial    string
}

// findings is what was found out about the operations on one key.
type findings struct {
	result     porcupine.CheckResult
	info       porcupine.LinearizationInfo
	operations []porcupine.Operation // that info is about
}

// check judges the operations on one key, a chunk after the other.
//
// A chunk ends where no operation is under way. It begins in the state that an
// order of the chunk before it ends in. If another of that one's orders ends in
// another state, a chunk may be refused wrongly; so what is refused is checked
// again together with the chunks before it, up to the whole history. An
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

// joined puts as many chunks before the current one as it has already, or all there are.
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

// split cuts a history where no operation is under way, into chunks of chunkSize or more.
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

// finalState is where the order that Porcupine found ends.
func finalState(current chunk, info porcupine.LinearizationInfo) string {
	state := current.initial
	for _, index := range longestOrder(info) {
		_, state = protocol.Model.Step(state, current.operations[index].Input.(history.Record))
	}
	return state
}

// longestOrder is the longest legal order of operations that was found.
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
