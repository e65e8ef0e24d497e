// Command histories judges whether recorded histories are linearizable. In a
// linearizable history, every operation can be given one instant between its
// call and its return, such that the protocol's model allows all operations in
// the order of these instants.
//
// The protocol's model is package protocol. The build copies it from
// spec/<protocol>/live/history.go: see harness/histories/__init__.py.
package main

import (
	"flag"
	"fmt"
	"os"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"

	"stepwise/histories/history"
	"stepwise/histories/protocol"
)

// Exit codes.
const (
	linearizable    = 0
	notLinearizable = 1
	unusable        = 2
	undecided       = 3
)

func main() {
	timeout := flag.Duration("timeout", time.Minute, "give up on a file after this `long`")
	drawing := flag.String("drawing", "", "draw the first history that is not linearizable into this HTML `file`")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: histories [--timeout LONG] [--drawing FILE.html] HISTORY...")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(unusable)
	}
	worst := linearizable
	for _, path := range flag.Args() {
		if code := judge(path, *timeout, *drawing); code > worst {
			worst = code
		}
	}
	os.Exit(worst)
}

// judge prints the verdict on a history and returns its exit code.
func judge(path string, timeout time.Duration, drawing string) int {
	file, err := os.Open(path)
	if err != nil {
		fmt.Fprintln(os.Stderr, "histories: cannot read the history:", err)
		return unusable
	}
	defer file.Close()
	records, err := history.Read(file)
	if err != nil {
		fmt.Fprintf(os.Stderr, "histories: %s: %v\n", path, err)
		return unusable
	}
	if len(records) == 0 {
		fmt.Fprintf(os.Stderr, "histories: %s: no operation was recorded\n", path)
		return unusable
	}
	partitions := partition(records)
	deadline := time.Now().Add(timeout)
	for _, key := range keys(partitions) {
		switch found := check(partitions[key], deadline); found.result {
		case porcupine.Illegal:
			fmt.Printf("NOT linearizable: %s: %d operations, first wrong on key %s\n", path, len(records), key)
			explain(found)
			return refuse(found.info, drawing)
		case porcupine.Unknown:
			fmt.Printf("undecided: %s: %d operations, no result within %s (at key %s)\n", path, len(records), timeout, key)
			return undecided
		}
	}
	fmt.Printf("linearizable: %s: %d operations on %d keys\n", path, len(records), len(partitions))
	return linearizable
}

// explain prints the operations around the point where the longest legal order
// stops.
func explain(found findings) {
	longest, operations := longestOrder(found.info), found.operations
	placed := make([]bool, len(operations))
	for _, index := range longest {
		placed[index] = true
	}
	fmt.Printf("  %d of %d operations have an order; the last of it and the first without a place:\n", len(longest), len(operations))
	const shown = 4
	for place, index := range longest {
		if place < len(longest)-shown {
			continue
		}
		line("     ", operations[index])
	}
	missing := 0
	for index, operation := range operations {
		if !placed[index] && missing < shown {
			line("  ?? ", operation)
			missing++
		}
	}
}

func line(prefix string, operation porcupine.Operation) {
	returned := "-"
	if operation.Return != history.Never {
		returned = fmt.Sprint(operation.Return)
	}
	fmt.Printf("%s[%d, %s] %v\n", prefix, operation.Call, returned, operation.Input)
}

func refuse(info porcupine.LinearizationInfo, drawing string) int {
	if drawing == "" {
		return notLinearizable
	}
	if err := porcupine.VisualizePath(model(protocol.Model.Initial), info, drawing); err != nil {
		fmt.Fprintf(os.Stderr, "histories: cannot draw into %s: %v\n", drawing, err)
		return unusable
	}
	fmt.Println("  drawn in", drawing)
	return notLinearizable
}

// partition groups the operations that matter by their keys.
func partition(records []history.Record) map[string][]porcupine.Operation {
	partitions := make(map[string][]porcupine.Operation)
	for _, record := range records {
		operations := partitions[record.Key]
		if protocol.Model.Matters(record) {
			operations = append(operations, porcupine.Operation{
				ClientId: record.Client, Input: record, Call: record.Call, Return: record.Return,
			})
		}
		partitions[record.Key] = operations
	}
	return partitions
}

func keys(partitions map[string][]porcupine.Operation) []string {
	names := make([]string, 0, len(partitions))
	for name := range partitions {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// model returns the protocol's model in the checker's form. It starts in the
// given state.
func model(initial string) porcupine.Model {
	return porcupine.Model{
		Init: func() interface{} { return initial },
		Step: func(state, input, _ interface{}) (bool, interface{}) {
			return protocol.Model.Step(state.(string), input.(history.Record))
		},
		Equal: func(one, other interface{}) bool { return one == other },
		DescribeOperation: func(input, _ interface{}) string {
			return input.(history.Record).String()
		},
		DescribeState: func(state interface{}) string { return state.(string) },
	}
}
