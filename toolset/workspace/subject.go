// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"cmp"
	"fmt"
)

// Subject describes a tool call for people.
type Subject struct {
	// Title describes the call in a few words, such as "Read a.go (lines 1 to 10)". It may have
	// line breaks, as commands may.
	Title string
	// Path is the file that is read or changed, absolute and clean, and Line is where. Both are
	// empty for other calls. A path that cannot be understood is as the model wrote it.
	Path string
	Line int
	// Output reports that the call shows the output of a command: its result has a [CommandState].
	// Runs reports that it runs the command, and fails if the command fails.
	Output, Runs bool
	// Changes reports that the call changes the file.
	Changes bool
	// Listing reports that people see the text of the result, as the model does: a list of files,
	// or lines that were found.
	Listing bool
}

// Subject returns what a call of one of the session's tools is about. args are the decoded
// arguments of the tool. ok is false for other arguments. Files are not looked at, and the call
// may fail.
func (s *Session) Subject(args any) (about Subject, ok bool) {
	describer, ok := args.(interface{ subject(s *Session) Subject })
	if !ok || s.workspace == nil || len(s.workspace.Roots()) == 0 {
		return Subject{}, false
	}
	return describer.subject(s), true
}

// shown returns a path as it is shown, and absolute. The path may lie outside.
func (s *Session) shown(path string) (short, abs string) {
	at, err := LocateIn(s.workspace, path)
	if err == nil {
		return cutText(printable(shortPath(s.workspace, at.Path)), maxTitle), at.Path
	}
	root := s.workspace.Roots()[0]
	abs, err = StyleOf(root).Abs(root, path)
	if err != nil {
		return cutText(printable(path), maxTitle), path
	}
	return cutText(printable(shortPath(s.workspace, abs)), maxTitle), abs
}

func (s *Session) file(verb, path string) Subject {
	short, abs := s.shown(path)
	return Subject{Title: verb + " " + short, Path: abs}
}

func (in readFileArgs) subject(s *Session) Subject {
	in = in.resolved()
	about := s.file("Read", in.Path)
	about.Line = in.Line
	switch first := max(in.Line, 1); {
	case in.Limit > 0:
		about.Title += fmt.Sprintf(" (lines %d to %d)", first, first+in.Limit-1)
	case in.Line > 0:
		about.Title += fmt.Sprintf(" (from line %d)", first)
	}
	return about
}

func (in writeFileArgs) subject(s *Session) Subject {
	about := s.file("Write", in.Path)
	about.Changes = true
	return about
}

func (in editFileArgs) subject(s *Session) Subject {
	path, _ := ParseLink(in.Path)
	about := s.file("Edit", path)
	about.Changes = true
	return about
}

func (in commandArgs) subject(s *Session) Subject {
	cmd, err := commandOf(StyleOf(s.workspace.Roots()[0]), in)
	if err != nil {
		return Subject{Title: cutText(in.Command, maxTitle), Output: true, Runs: true}
	}
	about := Subject{Title: commandTitle(cmd), Output: true, Runs: true}
	if in.Cwd != "" {
		dir, _ := s.shown(in.Cwd)
		about.Title += " (in " + dir + ")"
	}
	return about
}

func (in getTerminalOutputArgs) subject(s *Session) Subject {
	about := s.command("Look at", in.Terminal)
	about.Output = true
	return about
}

func (in waitForTerminalExitArgs) subject(s *Session) Subject {
	about := s.command("Wait for", in.Terminal)
	about.Output = true
	return about
}

func (in killTerminalArgs) subject(s *Session) Subject { return s.command("Stop", in.Terminal) }

func (in releaseTerminalArgs) subject(s *Session) Subject { return s.command("Close", in.Terminal) }

// command names a terminal by what runs in it, if it is there.
func (s *Session) command(verb, id string) Subject {
	title := cutText(id, maxRepeated)
	if t, _ := s.kept(id); t != nil {
		title = t.title
	}
	return Subject{Title: verb + " " + cmp.Or(title, "a terminal")}
}
