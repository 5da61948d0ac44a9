// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"path"
	"strings"
)

// PanicError reports a panic in a tool, model, instruction, toolset or validator.
type PanicError struct {
	// Value is the value passed to panic, Stack the goroutine's stack at that time.
	Value any
	Stack []byte
}

// Error implements error. It returns one line with the value and, if Stack has them, the file, line and function that panicked.
func (e *PanicError) Error() string {
	text := e.said()
	if function, place := origin(e.Stack); place != "" {
		text += fmt.Sprintf(" (%s in %s)", place, function)
	}
	return text
}

// said is the text without the place.
func (e *PanicError) said() string {
	return "panic: " + strings.Join(strings.Fields(fmt.Sprint(e.Value)), " ")
}

// origin finds the function that panicked, with its file and line, in the text of a stack. It skips frames of the runtime, in
// which a nil dereference, for example, panics.
func origin(stack []byte) (function, place string) {
	lines := strings.Split(string(stack), "\n")
	panicked := false
	for i := 0; i+1 < len(lines); i++ {
		if strings.HasPrefix(lines[i], "panic(") {
			panicked = true
			continue
		}
		file, ok := strings.CutPrefix(lines[i+1], "\t")
		if !panicked || !ok || strings.HasPrefix(lines[i], "\t") || strings.HasPrefix(lines[i], "runtime.") {
			continue
		}
		file, _, _ = strings.Cut(file, " +0x")
		function = lines[i]
		if args := strings.LastIndexByte(function, '('); args > 0 {
			function = function[:args]
		}
		return path.Base(function), path.Base(file)
	}
	return "", ""
}

// Unwrap returns the value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
