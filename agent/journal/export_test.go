// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bytes"
	"os"
)

// Break has all that is done with the file of a log fail, until it is mended.
func Break(l Log) (mend func()) {
	file := l.(*fileLog).file
	whole := file.File
	broken, err := os.Open(os.DevNull)
	if err != nil {
		panic(err)
	}
	broken.Close()
	file.File = broken
	return func() { file.File = whole }
}

// BreakSync has the file of a log take writes that never reach a disk and cannot be synced, until it is mended. It works
// on Linux.
func BreakSync(l Log) (mend func()) {
	file := l.(*fileLog).file
	whole := file.File
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		panic(err)
	}
	file.File = null
	return func() {
		null.Close()
		file.File = whole
	}
}

// Fail ends a log as a batch that cannot be written does.
func Fail(l Log, err error) { l.(*fileLog).end(err) }

// Hold has appended records wait, as if a batch was being written, until they are released.
func Hold(l Log) (release func()) {
	l.(*fileLog).commit.Lock()
	return l.(*fileLog).commit.Unlock
}

// Waiting returns how many records wait for a batch to be written.
func Waiting(l Log) int {
	f := l.(*fileLog)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open == nil {
		return 0
	}
	return bytes.Count(f.open.buf, []byte("\n")) - 1 // the header
}

// ParseFile is what is fuzzed.
func ParseFile(data []byte, run string) (records [][]byte, good int, err error) {
	return parseFile(data, run)
}

// Line returns the line of a document.
func Line(n int, body []byte) []byte { return appendLine(nil, n, body) }

// HeaderLine returns the first line of a run's file.
func HeaderLine(run string) []byte { return headerLine(run) }
