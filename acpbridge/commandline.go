// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"slices"
	"strings"

	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/command"
)

// commandLine is what a model wants to run: a program with arguments, possibly a shell with a line.
//
// A line is given to a shell explicitly, though some clients would do so themselves: the protocol has a program and its
// arguments, and clients differ. Some start the program as it stands, others pass everything to the user's shell with
// the arguments quoted. "sh -c LINE" means the same to all of them.
type commandLine struct {
	program string
	args    []string
	// shown is the command for people: as the model wrote it, or quoted for a shell.
	shown string
	// line says that a shell reads shown.
	line bool
}

const (
	// posixMeta are the characters that a POSIX shell gives a meaning to anywhere in a word.
	posixMeta = "|&;<>()$`\\\"'*?[]{}~#!\n\r"
	// windowsMeta are those of cmd.exe.
	windowsMeta = "|&<>()^%!\"\n\r"
)

// parseCommand takes a command as models write it: a line, or a program with arguments.
func parseCommand(windows bool, written string, args []string) (commandLine, error) {
	meta := posixMeta
	if windows {
		meta = windowsMeta
	}
	words := strings.Fields(written)
	if len(words) == 0 {
		return commandLine{}, toolset.Retry("The command is empty.")
	}
	plain := !strings.ContainsAny(written, meta) && !strings.Contains(words[0], "=")
	if len(args) > 0 {
		switch {
		case len(words) == 1, strings.ContainsAny(words[0], `/\`): // a path may have spaces
			return directCommand(strings.TrimSpace(written), args), nil
		case plain:
			return directCommand(words[0], slices.Concat(words[1:], args)), nil
		}
		return commandLine{}, toolset.Retry("Give either a whole command line in command, without args, or a program in command and its arguments in args.")
	}
	line := strings.TrimSpace(written)
	switch {
	case windows: // much of what one types there is built into the shell
		return commandLine{program: "cmd", args: []string{"/C", line}, shown: line, line: true}, nil
	case !plain:
		return commandLine{program: "sh", args: []string{"-c", line}, shown: line, line: true}, nil
	}
	return directCommand(words[0], words[1:]), nil
}

func directCommand(program string, args []string) commandLine {
	return commandLine{program: program, args: args, shown: command.Quote(append([]string{program}, args...))}
}
