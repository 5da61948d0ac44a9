// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

type action string

const (
	actRead       action = "read"
	actList       action = "list"
	actSearch     action = "search"
	actDefinition action = "find the definition of"
	actCallers    action = "find the callers of"
	actRename     action = "rename"
	actDiagnose   action = "look for problems"
	actReplace    action = "replace"
	actCreate     action = "create"
	actAppend     action = "append"
	actRun        action = "run"
	actWait       action = "wait"
	actThink      action = "think"
	actHelp       action = "help"
	actTests      action = "run the tests"
	actTool       action = "use"
	actUndo       action = "undo the last changes"
	actRedo       action = "redo what was undone"
)

// A step is one thing that the user asked for. Which fields mean something depends on act.
type step struct {
	act action
	// path is the file, or the directory to list or search.
	path string
	// line and limit choose the lines to read; 0 means from the beginning, and to the end.
	line, limit int
	// pattern chooses the files to list.
	pattern string
	// text is the text to search for, to replace, to write, to append, or to think about.
	text string
	// with replaces text; once limits this to the first occurrence.
	with string
	once bool
	// command is the command line to run.
	command string
	// wait is how long to wait.
	wait time.Duration
	// tool is the tool to call, args are its arguments.
	tool string
	args json.RawMessage
}

// changes reports whether the step writes to a file.
func (s step) changes() bool {
	return s.act == actReplace || s.act == actCreate || s.act == actAppend
}

// dependsOn reports whether s makes no sense once failed has failed: it is about the same file, or
// it runs a command that was to see a change.
func (s step) dependsOn(failed step) bool {
	if s.act == actRun || s.act == actTests {
		return failed.changes() || failed.act == actRename
	}
	return s.path != "" && s.path == failed.path && (s.act == actRead || s.changes())
}

// String describes the step, as an item of a plan.
func (s step) String() string {
	switch s.act {
	case actRead:
		switch {
		case s.line > 0 && s.limit > 0:
			return fmt.Sprintf("read %s, lines %d-%d", s.path, s.line, s.line+s.limit-1)
		case s.line > 0:
			return fmt.Sprintf("read %s from line %d", s.path, s.line)
		case s.limit > 0:
			return fmt.Sprintf("read the first %d lines of %s", s.limit, s.path)
		}
		return "read " + s.path
	case actList:
		if s.pattern != "" {
			return fmt.Sprintf("list %s in %s", s.pattern, place(s.path))
		}
		return "list " + place(s.path)
	case actSearch:
		return fmt.Sprintf("search %s in %s", quote(s.text), place(s.path))
	case actDefinition, actCallers:
		return string(s.act) + " " + quote(s.text)
	case actRename:
		return fmt.Sprintf("rename %s to %s", quote(s.text), quote(s.with))
	case actReplace:
		return fmt.Sprintf("replace %s with %s in %s", quote(s.text), quote(s.with), s.path)
	case actCreate:
		return "write " + s.path
	case actAppend:
		return "append to " + s.path
	case actRun:
		return "run " + code(s.command)
	case actTool:
		return "use " + code(s.tool)
	case actWait:
		return fmt.Sprintf("wait %v", s.wait)
	case actThink:
		return "think about " + quote(s.text)
	}
	return string(s.act)
}

func place(dir string) string {
	if dir == "" || dir == "." {
		return "the working directory"
	}
	return dir
}

// quote shows a text of the user on one line, cut to a readable length, as inline code.
func quote(s string) string {
	const most = 60
	if len(s) > 16*most {
		s = strings.ToValidUTF8(s[:16*most], "")
	}
	s = strings.NewReplacer("\n", "⏎", "\t", " ", "\r", "").Replace(s)
	if r := []rune(s); len(r) > most {
		s = string(r[:most-1]) + "…"
	}
	return code(s)
}

// code returns s as inline code of Markdown, whatever backticks it has.
func code(s string) string {
	if s == "" {
		return "(nothing)"
	}
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		return fence + " " + s + " " + fence
	}
	return fence + s + fence
}
