// Package history defines the records of clients' operations and their answers,
// and the form of a protocol's model, which judges such records.
//
// A history is a text file with one line for each operation, of seven words:
//
//	client key operation argument outcome call return
//
// call and return are nanoseconds of one monotonic clock. A return of "-" means
// that no answer came. "-" elsewhere means that there is no such value. Lines
// that start with "#" are comments.
package history

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// Never is the return of an operation that was not answered.
const Never = math.MaxInt64

// None stands for an argument or an outcome that does not exist.
const None = "-"

// Record is one operation of a history.
type Record struct {
	Client    int
	Key       string // operations on different keys do not affect one another
	Operation string
	Argument  string
	Outcome   string
	Call      int64 // nanoseconds
	Return    int64 // nanoseconds, or Never
}

// Model is a protocol's promise for one key, as a sequential specification.
// States are compared by their text and must not be changed.
type Model struct {
	// Matters returns false for a record that is allowed in every state and changes none.
	// A record that matters and never returned must be allowed in every state.
	Matters func(record Record) bool
	Initial string
	// Step returns whether the record is allowed in the state, and the state after it.
	Step func(state string, record Record) (bool, string)
}

const words = 7

// Read parses a whole history.
func Read(reader io.Reader) ([]Record, error) {
	var records []Record
	scanner := bufio.NewScanner(reader)
	for line := 1; scanner.Scan(); line++ {
		text := scanner.Text()
		if text == "" || text[0] == '#' {
			continue
		}
		record, err := parse(text)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		records = append(records, record)
	}
	return records, scanner.Err()
}

func parse(text string) (Record, error) {
	fields := strings.Fields(text)
	if len(fields) != words {
		return Record{}, fmt.Errorf("%d words, but an operation has %d: %q", len(fields), words, text)
	}
	client, err := strconv.Atoi(fields[0])
	if err != nil {
		return Record{}, fmt.Errorf("the client must be a number, not %q", fields[0])
	}
	call, err := strconv.ParseInt(fields[5], 10, 64)
	if err != nil {
		return Record{}, fmt.Errorf("the call must be a number of nanoseconds, not %q", fields[5])
	}
	returned := int64(Never)
	if fields[6] != None {
		returned, err = strconv.ParseInt(fields[6], 10, 64)
		if err != nil {
			return Record{}, fmt.Errorf("the return must be a number of nanoseconds or %q, not %q", None, fields[6])
		}
	}
	if returned < call {
		return Record{}, fmt.Errorf("returned at %d, before its call at %d", returned, call)
	}
	return Record{client, fields[1], fields[2], fields[3], fields[4], call, returned}, nil
}

// String returns the record in words, without its times.
func (record Record) String() string {
	return fmt.Sprintf("client %d: %s %s %s = %s", record.Client, record.Operation, record.Key, record.Argument, record.Outcome)
}
