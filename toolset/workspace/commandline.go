// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/command"
)

// commandOf reads a command as models write it: a line, or a program with arguments. dir is not
// resolved. The error is for the model.
func commandOf(style Style, in commandArgs) (Command, error) {
	c := Command{Dir: in.Cwd, Sandbox: in.sandbox}
	for _, name := range slices.Sorted(maps.Keys(in.Env)) {
		c.Env = append(c.Env, name+"="+in.Env[name])
	}
	line := trimmed(style, in.Command)
	program, _, more := strings.Cut(line, " ")
	switch {
	case strings.Trim(line, blanks) == "":
		return c, toolset.Retry("The command is empty.")
	case len(in.Args) == 0:
		c.Line = line
	case !more, strings.ContainsAny(program, `/\`): // a path may have spaces
		c.Args = append([]string{line}, in.Args...)
	case style == Slash && !strings.ContainsAny(line, posixMeta):
		c.Line = line + " " + command.Quote(in.Args)
	default:
		return c, toolset.Retry("Give either a whole command line in command, without args, or a program in command and its arguments in args.")
	}
	if err := c.Check(); err != nil {
		return c, toolset.Retry("The command is malformed: %s.", strings.TrimPrefix(
			err.Error(), ErrCommand.Error()+": ",
		))
	}
	return c, nil
}

// trimmed returns a line without what shells skip before and after it. Where the end of a line
// may mean something, such as after a backslash, in quotes and in a here document, it stays.
func trimmed(style Style, line string) string {
	if style == Windows {
		return strings.Trim(line, blanks)
	}
	line = strings.TrimLeft(line, posixBlanks)
	if short := strings.TrimRight(line, posixBlanks); !strings.ContainsAny(short, "\\'\"`<\n") {
		return short
	}
	return line
}

// Argv returns the command as a program with its arguments, for systems that start nothing else. A line is given to sh, or to cmd on
// Windows: only a shell knows what its words are and which of them it does itself. A line that sh would take for options gets a blank in front.
func (c *Command) Argv(style Style) []string {
	switch {
	case len(c.Args) > 0:
		return c.Args
	case style == Windows: // much of what one types there is built into the shell
		return []string{"cmd", "/C", c.Line}
	}
	line := c.Line
	if strings.HasPrefix(line, "-") || strings.HasPrefix(line, "+") {
		line = " " + line
	}
	return []string{"sh", "-c", line}
}

const (
	// blanks are what a command must not consist of.
	blanks = " \t\r\n"
	// posixBlanks are what a POSIX shell skips before and after a line. A carriage return is a character like any other.
	posixBlanks = " \t\n"
	// posixMeta are the characters that a POSIX shell gives a meaning to anywhere in a word.
	posixMeta = "|&;<>()$`\\\"'*?[]{}~#!\n\r"
)

// commandTitle returns a command for people: as the model wrote it, or quoted for a shell. Of a
// long one it is the beginning; the whole of it is in the preview.
func commandTitle(c Command) string {
	if len(c.Args) == 0 {
		return cutText(c.Line, maxTitle)
	}
	return cutText(command.Quote(c.Args), maxTitle)
}

// maxTitle is how many bytes of a command are shown in titles, and of a name or a message of
// others. maxRepeated is how much of what a model has written an error repeats.
const (
	maxTitle    = 1000
	maxRepeated = 200
)

// createdNote tells of what a sandbox could not protect.
func createdNote(exit *Exit) string {
	if exit == nil || len(exit.Created) == 0 {
		return ""
	}
	shown := make([]string, 0, 8)
	for _, path := range exit.Created[:min(len(exit.Created), cap(shown))] {
		shown = append(shown, printable(path))
	}
	return "; while it ran, these files were created, which other programs execute or obey: " +
		strings.Join(shown, ", ") + ". Tell the user"
}

// howEnded describes how a command ended.
func howEnded(exit *Exit) string {
	switch {
	case exit == nil:
		return "still running"
	case exit.Signal != "":
		return "killed by signal " + exit.Signal
	case exit.Code < 0:
		return "ended, exit code unknown"
	}
	return fmt.Sprintf("exit code %d", exit.Code)
}
