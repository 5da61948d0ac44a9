// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"bytes"
	"encoding/json"

	"github.com/ponte-go/ponte/toolset"
)

// FileRead is the Meta of results of read_file, as JSON.
type FileRead struct {
	// Lines and Bytes are how much was read.
	Lines int `json:"lines"`
	Bytes int `json:"bytes"`
	// Truncated is set if more was requested than is shown at once.
	Truncated bool `json:"truncated,omitempty"`
	// Encoding is the encoding of the file, unless it is UTF-8.
	Encoding string `json:"encoding,omitempty"`
	// Unsaved is set if the editor has text that is not on disk, and Unfaithful if the editor does
	// not show the file as it is on disk.
	Unsaved    bool `json:"unsaved,omitempty"`
	Unfaithful bool `json:"unfaithful,omitempty"`
}

// FileWritten is the Meta of results of write_file and edit_file, as JSON.
type FileWritten struct {
	// Bytes is the size of the file as it is after the call: in the editor, where only that is
	// known.
	Bytes int `json:"bytes"`
	// Created is set if the file is new, Changed if something was written.
	Created bool `json:"created,omitempty"`
	Changed bool `json:"changed"`
	// Reformatted is set if the editor saved something other than what was written, and Unsaved if
	// it has not saved the file.
	Reformatted bool `json:"reformatted,omitempty"`
	Unsaved     bool `json:"unsaved,omitempty"`
}

// CommandState is the Meta of results of run_command, get_terminal_output and
// wait_for_terminal_exit, as JSON.
type CommandState struct {
	// Terminal is the model's id of the command, if the command is kept.
	Terminal string `json:"terminalId,omitempty"`
	// Exit describes how the command ended. It is nil while the command runs, and if it was killed
	// after its time.
	Exit *Exit `json:"exit,omitempty"`
	// TimedOut is set if the command was killed after its time, Running while it runs.
	TimedOut bool `json:"timedOut,omitempty"`
	Running  bool `json:"running,omitempty"`
	// Truncated is set if a part of the output is not shown.
	Truncated bool `json:"truncated,omitempty"`
}

// Succeeded reports whether the command has ended with exit code 0.
func (s *CommandState) Succeeded() bool {
	return s.Exit != nil && s.Exit.Code == 0 && s.Exit.Signal == ""
}

// withMeta returns the result of a call, with what it came to.
func withMeta(text string, meta any) toolset.Result {
	raw, err := json.Marshal(meta)
	if err != nil { // only plain structs get here
		raw = nil
	}
	return toolset.Result{Text: text, Meta: raw}
}

func countLines(data []byte) int {
	n := bytes.Count(data, []byte{'\n'})
	if len(data) > 0 && data[len(data)-1] != '\n' {
		n++
	}
	return n
}
