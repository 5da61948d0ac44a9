// SPDX-License-Identifier: Apache-2.0

package workspacetest

import (
	"fmt"
	"strings"

	"github.com/ponte-go/ponte/toolset/workspace"
)

// workStep is a tool call of [work], and what the model is told. The working directory is written
// as ROOT.
type workStep struct {
	tool string
	args args
	told string
}

// changes reports whether a step changes files.
func (s *workStep) changes() bool {
	return s.tool == workspace.ToolEditFile || s.tool == workspace.ToolWriteFile
}

type args = map[string]any

// workFiles are the files that [work] begins with.
var workFiles = map[string]string{
	"go.mod":       "module greet\n\ngo 1.26\n",
	"greet.go":     "package greet\n\n// Greet greets.\nfunc Greet(name string) string {\n\treturn \"Hello, \" + name\n}\n",
	"lib/names.go": "package lib\r\n\r\nvar Names = []string{\"Ada\"}\r\n",
	".gitignore":   "/out\n",
	"out/log.txt":  "Greet\n",
}

// workCommand is a command that runs [workTest].
const workCommand = "run-the-tests"

// workTest is the script of [workCommand]: it returns its output and its exit code. read returns a
// file of the working directory.
func workTest(read func(name string) (string, error)) (string, int) {
	text, err := read("greet.go")
	if err != nil {
		return "greet.go: cannot be read\n", 2
	}
	if !strings.Contains(text, `"Good day, "`) {
		return fmt.Sprintf("--- FAIL: TestGreet\n    got a text without %q\nFAIL\n", "Good day, "), 1
	}
	return "ok\n", 0
}

// work is a conversation's worth of tool calls: read, search, three edits, a test run, a fix, a
// run again, and what can go wrong. On every backend the model is told the same.
func work() []workStep {
	return []workStep{
		{"list_files", args{}, ".gitignore\ngo.mod\ngreet.go\nlib/\n"},
		{"list_files", args{"pattern": "**/*.go"}, "greet.go\nlib/names.go\n"},
		{
			"search_files", args{"pattern": "Greet"},
			"greet.go:3: // Greet greets.\ngreet.go:4: func Greet(name string) string {\n",
		},
		{"search_files", args{"pattern": `^\s+return`, "context": 1}, "greet.go-4- func Greet(name string) string {\ngreet.go:5: \treturn \"Hello, \" + name\ngreet.go-6- }\n"},
		{"read_file", args{"path": "greet.go"}, workFiles["greet.go"]},
		{"read_file", args{"path": "greet.go", "line": 4, "limit": 1}, "func Greet(name string) string {\n"},
		{"edit_file", args{"path": "greet.go", "edits": []args{
			{"old_text": "return \"Hello\" + name", "new_text": "x"},
		}},
			"Nothing was changed in greet.go. old_text was not found. The nearest lines are:\n     5\t\treturn \"Hello, \" + name\nCopy the text exactly from the file."},
		{"edit_file", args{"path": "greet.go", "edits": []args{
			{"old_text": "// Greet greets.", "new_text": "// Greet greets someone."},
			{"old_text": "\"Hello, \"", "new_text": "\"Goodday, \""},
		}},
			"Edited greet.go. Lines 1 to 6 are now:\n     1\tpackage greet\n     2\n     3\t// Greet greets someone.\n     4\tfunc Greet(name string) string {\n     5\t\treturn \"Goodday, \" + name\n     6\t}"},
		{"edit_file", args{"path": "lib/names.go", "edits": []args{
			{"old_text": "\"Ada\"}\n", "new_text": "\"Ada\", \"Grace\"}\n\nvar None []string\n"},
		}},
			"Edited lib/names.go. Lines 1 to 5 are now:\n     1\tpackage lib\n     2\n     3\tvar Names = []string{\"Ada\", \"Grace\"}\n     4\n     5\tvar None []string"},
		{"write_file", args{"path": "doc/readme.txt", "content": "Greets.\n"}, "Created doc/readme.txt (8 bytes)."},
		{
			"run_command", args{"command": workCommand},
			"--- FAIL: TestGreet\n    got a text without \"Good day, \"\nFAIL\n[exit code 1]",
		},
		{"edit_file", args{"path": "greet.go", "edits": []args{{"old_text": "Goodday", "new_text": "Good day"}}},
			"Edited greet.go. Lines 3 to 6 are now:\n     3\t// Greet greets someone.\n     4\tfunc Greet(name string) string {\n     5\t\treturn \"Good day, \" + name\n     6\t}"},
		{"run_command", args{"command": workCommand}, "ok\n[exit code 0]"},
		{"read_file", args{"path": "lib/names.go"}, "package lib\r\n\r\nvar Names = []string{\"Ada\", \"Grace\"}\r\n\r\nvar None []string\r\n"},
		{"read_file", args{"path": "missing.go"}, "Could not read missing.go: not found."},
		{"read_file", args{"path": "lib"}, "Could not read lib: it is a directory."},
		{"read_file", args{"path": "../secret"}, "Could not read ../secret: the path lies outside of the working directory, or leads out through a link. Use a path inside ROOT."},
		{"write_file", args{"path": "greet.go/x", "content": ""}, "Could not write greet.go/x, because its present content cannot be read: it is not a directory, or a part of its path is a file."},
		{"get_terminal_output", args{"terminal_id": "terminal-9"}, `Unknown terminal "terminal-9": it was closed, or ended with the program that ran it. No terminals are open: run_command with background set to true opens one.`},
	}
}
